#include "data/open_dataset.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "data/test_support.h"
#include "google/protobuf/text_format.h"
#include "proto/data.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class OpenDatasetTest : public ::testing::Test {
 protected:
  OpenDatasetTest() {
    for (const char* name : {"x_v2_f8.npy", "y_i8.npy", "xy_deflate_zip64.npz", "imgs-idx3-ubyte.gz",
                             "labs-idx1-ubyte", "crlf_quotes.csv"}) {
      directory_.AddFixture(name);
    }
  }

  absl::StatusOr<std::shared_ptr<const Dataset>> Open(const std::string& text,
                                                      LabelKind wanted = LabelKind::kClass) const {
    v1::Dataset spec;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
    return OpenDataset(spec, {directory_.path(), wanted});
  }

  const TestDirectory directory_;
};

TEST_F(OpenDatasetTest, Synthetic) {
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       Open("synthetic { rows: 5 feature_shape: 2 feature_shape: 3 classes: 2 }"));
  EXPECT_EQ(dataset->info().rows, 5);
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(2, 3));
  EXPECT_EQ(dataset->Locate(4), "synthetic row 4");
}

TEST_F(OpenDatasetTest, A40Npy) {
  const std::string spec = "npy { features: 'x_v2_f8.npy' labels: 'y_i8.npy' scale: 2 }";
  ASSERT_OK_AND_ASSIGN(const auto classes, Open(spec));
  EXPECT_THAT(ReadAll(*classes).features, ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(ReadAll(*classes).classes, ElementsAre(0, 1));
  EXPECT_EQ(classes->Locate(1), "file x_v2_f8.npy and file y_i8.npy row 1");
  ASSERT_OK_AND_ASSIGN(const auto values, Open(spec, LabelKind::kFloat));
  EXPECT_EQ(values->info().label_kind, LabelKind::kFloat);
  EXPECT_THAT(ReadAll(*values).values, ElementsAre(0, 1));
}

TEST_F(OpenDatasetTest, A40LabelsOutsideInt32AreNotWrapped) {
  const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  directory_.Write("big.npy", MakeNpy(1, header, Raw<int64_t>({0, 3'000'000'000})));
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open("npy { features: 'x_v2_f8.npy' labels: 'big.npy' }"));
  EXPECT_OK(ReadRow(*dataset, 0));
  EXPECT_THAT(ReadRow(*dataset, 1),
              StatusIs(kInvalid, AllOf(HasSubstr("file big.npy row 1"), HasSubstr("3000000000"),
                                       HasSubstr("out of range"))));
}

TEST_F(OpenDatasetTest, A41NpzNamesArraysXAndYUnlessToldOtherwise) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open("npz { path: 'xy_deflate_zip64.npz' }"));
  EXPECT_THAT(ReadAll(*dataset).features, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ReadAll(*dataset).classes, ElementsAre(0, 1));
  EXPECT_THAT(Open("npz { path: 'xy_deflate_zip64.npz' labels: 'z' }"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no array \"z\"")));
}

TEST_F(OpenDatasetTest, A42IdxIsScaled) {
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       Open("idx { images: 'imgs-idx3-ubyte.gz' labels: 'labs-idx1-ubyte' "
                            "scale: 0.00392156862745098 }"));
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(2, 2));
  const auto near = [](float value) { return ::testing::FloatNear(value, 1e-7f); };
  EXPECT_THAT(ReadAll(*dataset).features,
              ElementsAre(0, near(.2509804f), near(.5019608f), 1, 1, near(.5019608f), near(.2509804f), 0));
  EXPECT_THAT(ReadAll(*dataset).classes, ElementsAre(3, 7));
}

TEST_F(OpenDatasetTest, IdxFilesWithDifferentNumbersOfRowsAreRefused) {
  directory_.Write("three", std::string("\0\0\x08\x01\0\0\0\x03\1\2\3", 11));
  EXPECT_THAT(Open("idx { images: 'imgs-idx3-ubyte.gz' labels: 'three' }"),
              StatusIs(kInvalid, AllOf(HasSubstr("file imgs-idx3-ubyte.gz has 2 rows"),
                                       HasSubstr("file three has 3"))));
}

TEST_F(OpenDatasetTest, CsvLabelsFollowTheLossUnlessTheJobSaysOtherwise) {
  const auto kind = [this](const std::string& type, LabelKind wanted) {
    return Open(absl::StrCat("csv { paths: 'crlf_quotes.csv' features: 'x1' label: 'label' ", type, "}"),
                wanted)
        .value()
        ->info()
        .label_kind;
  };
  EXPECT_EQ(kind("", LabelKind::kClass), LabelKind::kClass);
  EXPECT_EQ(kind("", LabelKind::kFloat), LabelKind::kFloat);
  EXPECT_EQ(kind("label_type: CLASS ", LabelKind::kFloat), LabelKind::kClass);
  EXPECT_EQ(kind("label_type: FLOAT ", LabelKind::kClass), LabelKind::kFloat);
}

TEST_F(OpenDatasetTest, MissingAndContradictoryFieldsAreNamed) {
  EXPECT_THAT(Open(""), StatusIs(kInvalid, HasSubstr("one of synthetic, npy, npz, idx and csv")));
  EXPECT_THAT(Open("npy { labels: 'y_i8.npy' }"), StatusIs(kInvalid, HasSubstr("npy.features")));
  EXPECT_THAT(Open("npz { }"), StatusIs(kInvalid, HasSubstr("npz.path")));
  EXPECT_THAT(Open("idx { images: 'imgs-idx3-ubyte.gz' }"), StatusIs(kInvalid, HasSubstr("idx.labels")));
  EXPECT_THAT(Open("csv { label: 'y' }"), StatusIs(kInvalid, HasSubstr("csv.paths")));
  EXPECT_THAT(Open("csv { paths: 'crlf_quotes.csv' }"), StatusIs(kInvalid, HasSubstr("csv.label")));
  EXPECT_THAT(Open("csv { paths: 'crlf_quotes.csv' label: 'label' delimiter: ', ' }"),
              StatusIs(kInvalid, HasSubstr("csv.delimiter \", \"")));
  EXPECT_THAT(Open("npz { path: 'xy_deflate_zip64.npz' scale: nan }"),
              StatusIs(kInvalid, HasSubstr("scale nan")));
}

TEST_F(OpenDatasetTest, APathOutsideIsFoundBehindFilesThatAreMissing) {
  for (const char* text : {"npy { features: 'none' labels: '../y' }", "npz { path: '/etc/passwd' }",
                           "idx { images: 'none' labels: '/etc/passwd' }",
                           "csv { paths: ['none', '/etc/passwd'] label: 'y' }"}) {
    v1::Dataset spec;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
    EXPECT_THAT(CheckDatasetPaths(spec, directory_.path()),
                StatusIs(kInvalid, HasSubstr("not below the root directory")))
        << text;
  }
  v1::Dataset missing;
  missing.mutable_npz()->set_path("none");
  EXPECT_OK(CheckDatasetPaths(missing, directory_.path()));
}

TEST_F(OpenDatasetTest, PathsOutsideTheDataRootAreRefused) {
  EXPECT_THAT(Open("npz { path: '/etc/passwd' }"),
              StatusIs(kInvalid, AllOf(HasSubstr("npz.path"), HasSubstr("/etc/passwd"),
                                       HasSubstr("OpenDatasetTest.PathsOutsideTheDataRoot"))));
  EXPECT_THAT(Open("csv { paths: '../../passwd' label: 'y' }"),
              StatusIs(kInvalid, AllOf(HasSubstr("csv.paths"), HasSubstr("not below"))));
  EXPECT_THAT(Open("npy { features: 'none.npy' labels: 'y_i8.npy' }"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("file none.npy")));
}

}  // namespace
}  // namespace lockstep

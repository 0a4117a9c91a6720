#include "data/csv_dataset.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<std::shared_ptr<const Dataset>> Open(absl::string_view text, const CsvOptions& options) {
  return OpenCsv({{ToBytes(text), "t.csv"}}, options);
}

CsvOptions Columns(std::vector<std::string> features, std::string label) {
  CsvOptions options;
  options.features = std::move(features);
  options.label = std::move(label);
  return options;
}

TEST(CsvTest, A38QuotedFieldsMaySpanLines) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open(FixtureText("crlf_quotes.csv"), Columns({"x1"}, "label")));
  const AllRows all = ReadAll(*dataset);
  EXPECT_THAT(all.features, ElementsAre(0.5, 1.5, 2.5, 3.5));
  EXPECT_THAT(all.classes, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(dataset->Locate(3), "file t.csv line 6 (row 3)");
}

TEST(CsvTest, A39TheByteOrderMarkIsNotPartOfTheColumnName) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open(FixtureText("bom.csv"), Columns({"x1"}, "label")));
  EXPECT_THAT(ReadAll(*dataset).features, ElementsAre(1, 2, 3));
}

TEST(CsvTest, A39MissingCellsAreErrorsWithTheirPlace) {
  EXPECT_THAT(Open(FixtureText("missing.csv"), Columns({"value"}, "label")),
              StatusIs(kInvalid, AllOf(HasSubstr("file t.csv line 3 column \"value\""), HasSubstr("\"NA\""),
                                       HasSubstr("missing_value"))));
  EXPECT_THAT(Open("a,y\n1,0\n,1\n", Columns({}, "y")),
              StatusIs(kInvalid, AllOf(HasSubstr("line 3 column \"a\""), HasSubstr("\"\" is missing"))));
}

TEST(CsvTest, A39MissingCellsAreReplacedIfTheJobSaysSo) {
  CsvOptions options = Columns({"value"}, "label");
  options.missing_value = -1.0f;
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open(FixtureText("missing.csv"), options));
  EXPECT_THAT(ReadAll(*dataset).features, ElementsAre(1017.1f, -1, -1, 1020.5f));
}

TEST(CsvTest, HexadecimalIsNotANumber) {
  EXPECT_THAT(Open("a,y\n0x10,1\n", Columns({}, "y")),
              StatusIs(kInvalid, AllOf(HasSubstr("line 2 column \"a\""), HasSubstr("is not a number"))));
  EXPECT_THAT(Open("a,y\n1,0X1\n", Columns({}, "y")),
              StatusIs(kInvalid, AllOf(HasSubstr("line 2 column \"y\""), HasSubstr("is not a number"))));
}

TEST(CsvTest, ANumberBeyondTheRangeIsShownAsItIsWritten) {
  EXPECT_THAT(Open("a,y\n1,0\n-1e39,1\n", Columns({}, "y")),
              StatusIs(kInvalid, HasSubstr("line 3 column \"a\": \"-1e39\" is beyond the range")));
  EXPECT_THAT(Open("a,y\n1,1e400\n", Columns({}, "y")),
              StatusIs(kInvalid, HasSubstr("line 2 column \"y\": \"1e400\" is beyond the range")));
}

TEST(CsvTest, AMissingLabelIsNeverReplaced) {
  CsvOptions options = Columns({}, "y");
  options.missing_value = 0.0f;
  EXPECT_THAT(Open("a,y\n1,n/a\n", options),
              StatusIs(kInvalid, AllOf(HasSubstr("line 2 column \"y\""), HasSubstr("missing label"))));
}

TEST(CsvTest, A24NanIsRefusedWhenItsRowIsRead) {
  std::string text = "x,y\n";
  for (int row = 1; row <= 7; ++row) absl::StrAppend(&text, row, ",", row, "\n");
  text += "nan,1\n";
  CsvOptions options = Columns({"x"}, "y");
  options.label_kind = LabelKind::kFloat;
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open(text, options));
  for (int64_t row = 0; row < 7; ++row) EXPECT_OK(ReadRow(*dataset, row));
  EXPECT_THAT(
      ReadRow(*dataset, 7),
      StatusIs(kInvalid, AllOf(HasSubstr("file t.csv line 9 (row 7) column \"x\""), HasSubstr("nan"))));
}

TEST(CsvTest, LabelsAreCheckedWhenTheirRowIsRead) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open("x,y\n1,3.0\n2,3.5\n3,3000000000\n", Columns({}, "y")));
  EXPECT_OK(ReadRow(*dataset, 0));
  EXPECT_THAT(ReadRow(*dataset, 1),
              StatusIs(kInvalid, AllOf(HasSubstr("line 3 (row 1) column \"y\" is 3.5"), HasSubstr("whole"))));
  EXPECT_THAT(ReadRow(*dataset, 2),
              StatusIs(kInvalid, AllOf(HasSubstr("3000000000"), HasSubstr("out of range"))));
}

TEST(CsvTest, FloatLabelsAreKept) {
  CsvOptions options = Columns({}, "y");
  options.label_kind = LabelKind::kFloat;
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open("x,y\n1,3.5\n2,-1e3\n", options));
  EXPECT_THAT(ReadAll(*dataset).values, ElementsAre(3.5, -1000));
}

TEST(CsvTest, FeaturesComeInTheOrderTheyAreListed) {
  const char* text = "a,y,b,c\n1,0,2,3\n4,1,5,6\n";
  ASSERT_OK_AND_ASSIGN(const auto listed, Open(text, Columns({"c", "a"}, "y")));
  EXPECT_THAT(ReadAll(*listed).features, ElementsAre(3, 1, 6, 4));
  ASSERT_OK_AND_ASSIGN(const auto all, Open(text, Columns({}, "y")));
  EXPECT_THAT(ReadAll(*all).features, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(all->info().feature_shape, ElementsAre(3));
}

TEST(CsvTest, AColumnIsTakenOnce) {
  EXPECT_THAT(Open("a,b,y\n1,2,0\n", Columns({"a", "a"}, "y")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("column \"a\" is listed twice")));
  EXPECT_THAT(Open("a,a,y\n1,2,0\n", Columns({}, "y")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has column \"a\" twice")));
}

TEST(CsvTest, FeaturesAreScaledAndTheDelimiterChosen) {
  CsvOptions options = Columns({}, "y");
  options.delimiter = ';';
  options.scale = 0.5f;
  ASSERT_OK_AND_ASSIGN(const auto dataset, Open("a;y\n3;1\n", options));
  EXPECT_THAT(ReadAll(*dataset).features, ElementsAre(1.5));
}

TEST(CsvTest, SeveralFilesAreOneDataset) {
  const std::vector<CsvFile> files = {{ToBytes("a,y\n1,0\n2,1\n"), "one.csv"},
                                      {ToBytes("a,y\n\n3,1"), "two.csv"}};
  ASSERT_OK_AND_ASSIGN(const auto dataset, OpenCsv(files, Columns({}, "y")));
  EXPECT_THAT(ReadAll(*dataset).features, ElementsAre(1, 2, 3));
  EXPECT_EQ(dataset->Locate(1), "file one.csv line 3 (row 1)");
  EXPECT_EQ(dataset->Locate(2), "file two.csv line 3 (row 2)");
}

TEST(CsvTest, FilesWithDifferentHeadersAreRefused) {
  const std::vector<CsvFile> files = {{ToBytes("a,y\n1,0\n"), "one.csv"}, {ToBytes("y,a\n0,1\n"), "two.csv"}};
  EXPECT_THAT(OpenCsv(files, Columns({}, "y")),
              StatusIs(kInvalid, AllOf(HasSubstr("file two.csv"), HasSubstr("\"y\", \"a\""),
                                       HasSubstr("\"a\", \"y\""))));
}

TEST(CsvTest, BadFilesAreRefusedWithTheirPlace) {
  const auto refused = [](const char* text, const CsvOptions& options, const std::string& problem) {
    EXPECT_THAT(Open(text, options), StatusIs(kInvalid, AllOf(HasSubstr("file t.csv"), HasSubstr(problem))))
        << text;
  };
  const CsvOptions label_y = Columns({}, "y");
  refused("", label_y, "header line");
  refused("a,y\n", label_y, "no rows");
  refused("a,b\n1,2\n", label_y, "no column \"y\"; the header has: \"a\", \"b\"");
  refused("a,y\n1,2\n", Columns({"z"}, "y"), "no column \"z\"");
  refused("a,y\n1,2\n", Columns({"y"}, "y"), "both feature and label");
  refused("a,y,a\n1,2,3\n", Columns({"a"}, "y"), "column \"a\" twice");
  refused("y\n1\n", label_y, "no column besides the label");
  refused("a,y\n1,2\n1,2,3\n", label_y, "line 3: 3 fields, but the header has 2");
  refused("a,y\n1\n", label_y, "line 2: 1 fields");
  refused("a,y\nred,2\n", label_y, "line 2 column \"a\": \"red\" is not a number");
  refused("a,y\n1,cat\n", label_y, "line 2 column \"y\": \"cat\" is not a number");
  refused("a,y\n1,\"2\n", label_y, "line 2: a quoted field is never closed");
}

}  // namespace
}  // namespace lockstep

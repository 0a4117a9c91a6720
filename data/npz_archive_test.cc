#include "data/npz_archive.h"

#include <zip.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

absl::StatusOr<NpzArchive> Open(const std::string& file) { return NpzArchive::Open(ToBytes(file), "t.npz"); }

std::vector<double> Values(const TypedArray& array, int64_t elements) {
  std::vector<double> values(elements);
  ConvertElements(array.data(), array.format, elements, values.data());
  return values;
}

// A zip archive of members given by name, stored or deflated.
std::string MakeZip(const std::map<std::string, std::string>& members, zip_int32_t compression) {
  const TestDirectory directory;
  const std::string path = absl::StrCat(directory.path(), "/made.zip");
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const auto& [name, content] : members) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    EXPECT_GE(index, 0);
    EXPECT_EQ(zip_set_file_compression(archive, index, compression, 0), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return ReadText(path);
}

TEST(NpzArchiveTest, A41Zip64AndDataDescriptorsAreRead) {
  for (const char* name : {"xy_deflate_zip64.npz", "xy_datadescriptor.npz"}) {
    ASSERT_OK_AND_ASSIGN(const NpzArchive archive, Open(FixtureText(name)));
    ASSERT_OK_AND_ASSIGN(const TypedArray x, archive.Read("x"));
    ASSERT_OK_AND_ASSIGN(const TypedArray y, archive.Read("y"));
    EXPECT_THAT(x.shape, ElementsAre(2, 3)) << name;
    EXPECT_THAT(Values(x, 6), ElementsAre(1, 2, 3, 4, 5, 6)) << name;
    EXPECT_THAT(y.shape, ElementsAre(2)) << name;
    EXPECT_THAT(Values(y, 2), ElementsAre(0, 1)) << name;
  }
}

TEST(NpzArchiveTest, A41AnUnknownArrayIsAnErrorThatListsThoseThatAreThere) {
  ASSERT_OK_AND_ASSIGN(const NpzArchive archive, Open(FixtureText("xy_deflate_zip64.npz")));
  EXPECT_THAT(archive.Read("train"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("file t.npz has no array \"train\""), HasSubstr("\"x\", \"y\""))));
}

TEST(NpzArchiveTest, A41ChecksumsAreChecked) {
  const std::string npy = MakeNpy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", "abcd");
  std::string file = MakeZip({{"x.npy", npy}}, ZIP_CM_STORE);
  const size_t at = file.find("abcd");
  ASSERT_NE(at, std::string::npos);
  file[at] = 'A';
  ASSERT_OK_AND_ASSIGN(const NpzArchive archive, Open(file));
  EXPECT_THAT(archive.Read("x"),
              StatusIs(kDataLoss, AllOf(HasSubstr("file t.npz array \"x\""), HasSubstr("CRC"))));
}

TEST(NpzArchiveTest, StoredAndDeflatedArraysLargerThanTheHeadersLimitAreRead) {
  const std::string data(200'000, 'z');
  const std::string npy = MakeNpy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (200000,)}", data);
  for (const zip_int32_t compression : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    ASSERT_OK_AND_ASSIGN(const NpzArchive archive, Open(MakeZip({{"x.npy", npy}}, compression)));
    ASSERT_OK_AND_ASSIGN(const TypedArray x, archive.Read("x"));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(x.data()), 200'000), data);
  }
}

TEST(NpzArchiveTest, SizesThatDisagreeWithTheArraysHeaderAreRefused) {
  const std::string npy =
      MakeNpy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000,)}", "12345678");
  ASSERT_OK_AND_ASSIGN(const NpzArchive archive, Open(MakeZip({{"x.npy", npy}}, ZIP_CM_DEFLATE)));
  EXPECT_THAT(archive.Read("x"), StatusIs(kInvalid, AllOf(HasSubstr("needs 32000000"),
                                                          HasSubstr(absl::StrCat("holds ", npy.size())))));
}

TEST(NpzArchiveTest, TwoMembersOfOneNameAreRefused) {
  // libzip itself does not write such an archive.
  const std::string zip = MakeZip({{"x.npy", "one"}, {"z.npy", "two"}}, ZIP_CM_STORE);
  EXPECT_THAT(Open(absl::StrReplaceAll(zip, {{"z.npy", "x.npy"}})).status(),
              StatusIs(kInvalid, HasSubstr("file t.npz has two members \"x.npy\"")));
}

TEST(NpzArchiveTest, WhatIsNoArchiveIsRefused) {
  for (const std::string& file : {std::string(), std::string("text"), FixtureText("y_i8.npy")}) {
    EXPECT_THAT(Open(file), StatusIs(kInvalid, HasSubstr("file t.npz is not a usable NPZ archive")));
  }
}

}  // namespace
}  // namespace lockstep

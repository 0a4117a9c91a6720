#include "data/idx_array.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

absl::StatusOr<TypedArray> Images(const std::string& file) {
  return ParseIdx(ToBytes(file), IdxContent::kImages, "file i");
}
absl::StatusOr<TypedArray> Labels(const std::string& file) {
  return ParseIdx(ToBytes(file), IdxContent::kLabels, "file l");
}

std::vector<int> Pixels(const TypedArray& array, int64_t n) {
  std::vector<int> pixels;
  for (int64_t i = 0; i < n; ++i) pixels.push_back(static_cast<int>(array.data()[i]));
  return pixels;
}

TEST(IdxArrayTest, A42CompressionIsToldByContent) {
  for (const char* name : {"imgs-idx3-ubyte", "imgs-idx3-ubyte.gz", "gz_named_plain-idx3-ubyte"}) {
    ASSERT_OK_AND_ASSIGN(const TypedArray images, Images(FixtureText(name)));
    EXPECT_THAT(images.shape, ElementsAre(2, 2, 2)) << name;
    EXPECT_THAT(Pixels(images, 8), ElementsAre(0, 64, 128, 255, 255, 128, 64, 0)) << name;
  }
  for (const char* name : {"labs-idx1-ubyte", "labs-idx1-ubyte.gz"}) {
    ASSERT_OK_AND_ASSIGN(const TypedArray labels, Labels(FixtureText(name)));
    EXPECT_THAT(labels.shape, ElementsAre(2)) << name;
    EXPECT_THAT(Pixels(labels, 2), ElementsAre(3, 7)) << name;
  }
}

TEST(IdxArrayTest, SwappedFilesAreNoticedByTheirMagicNumbers) {
  EXPECT_THAT(Images(FixtureText("labs-idx1-ubyte")),
              StatusIs(kInvalid, AllOf(HasSubstr("file i"), HasSubstr("(2049)"), HasSubstr("(2051)"))));
  EXPECT_THAT(Labels(FixtureText("imgs-idx3-ubyte.gz")),
              StatusIs(kInvalid, AllOf(HasSubstr("file l"), HasSubstr("(2051)"), HasSubstr("(2049)"))));
}

TEST(IdxArrayTest, WrongSizesAreErrorsWithBothNumbers) {
  const std::string file = FixtureText("imgs-idx3-ubyte");
  EXPECT_THAT(Images(file.substr(0, 20)),
              StatusIs(kInvalid, AllOf(HasSubstr("needs 8"), HasSubstr("there are 4"))));
  EXPECT_THAT(Images(file + "x"), StatusIs(kInvalid, AllOf(HasSubstr("needs 8"), HasSubstr("there are 9"))));
  EXPECT_THAT(Images(file.substr(0, 10)), StatusIs(kInvalid, HasSubstr("cut off after 10 bytes")));
  EXPECT_THAT(Images(""), StatusIs(kInvalid, HasSubstr("cut off after 0 bytes")));
}

TEST(IdxArrayTest, HeadersThatPromiseTooMuchAllocateNothing) {
  const std::string header = std::string("\0\0\x08\x03\0\xFF\xFF\xFF\0\0\x10\0\0\0\x10\0", 16);
  EXPECT_THAT(Images(header),
              StatusIs(kInvalid, AllOf(HasSubstr("needs 281474959933440"), HasSubstr("are 0"))));
  const std::string most(16, '\xFF');
  EXPECT_THAT(Images(std::string("\0\0\x08\x03", 4) + most), StatusIs(kInvalid, HasSubstr("makes no sense")));
}

TEST(IdxArrayTest, DamagedCompressionIsNoticed) {
  const std::string file = FixtureText("imgs-idx3-ubyte.gz");
  EXPECT_THAT(Images(file.substr(0, file.size() - 3)), StatusIs(kDataLoss, HasSubstr("cut off")));
  EXPECT_THAT(Images(file + "x"), StatusIs(kDataLoss, HasSubstr("1 bytes follow")));
}

}  // namespace
}  // namespace lockstep

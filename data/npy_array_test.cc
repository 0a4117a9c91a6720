#include "data/npy_array.h"

#include <cstdint>
#include <string>
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

absl::StatusOr<TypedArray> Parse(const std::string& file) { return ParseNpy(ToBytes(file), "file t.npy"); }

std::vector<double> Values(const TypedArray& array) {
  int64_t elements = 1;
  for (const int64_t dimension : array.shape) elements *= dimension;
  std::vector<double> values(elements);
  ConvertElements(array.data(), array.format, elements, values.data());
  return values;
}

std::string Header(const std::string& descr, const std::string& order, const std::string& shape) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }\n");
}

TEST(NpyArrayTest, A40FortranOrderIsTurnedIntoRowMajor) {
  ASSERT_OK_AND_ASSIGN(const TypedArray array, Parse(FixtureText("x_fortran_f4.npy")));
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(Values(array), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyArrayTest, A40Version2HeadersHaveALengthOfFourBytes) {
  ASSERT_OK_AND_ASSIGN(const TypedArray array, Parse(FixtureText("x_v2_f8.npy")));
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(Values(array), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyArrayTest, A40Int64IsRead) {
  ASSERT_OK_AND_ASSIGN(const TypedArray array, Parse(FixtureText("y_i8.npy")));
  EXPECT_THAT(array.shape, ElementsAre(2));
  EXPECT_THAT(Values(array), ElementsAre(0, 1));
}

TEST(NpyArrayTest, A40HeadersOver256BytesAreRead) {
  const std::string padded = Header("<i2", "False", "(2,)") + std::string(1000, ' ');
  ASSERT_OK_AND_ASSIGN(const TypedArray array, Parse(MakeNpy(1, padded, Raw<int16_t>({-7, 8}))));
  EXPECT_THAT(Values(array), ElementsAre(-7, 8));
}

TEST(NpyArrayTest, ThreeAxesInFortranOrder) {
  // value = 100 i + 10 j + k, with i fastest in the file
  std::vector<int16_t> values;
  std::vector<double> expected;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) values.push_back(static_cast<int16_t>(100 * i + 10 * j + k));
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) expected.push_back(100 * i + 10 * j + k);
    }
  }
  ASSERT_OK_AND_ASSIGN(const TypedArray array,
                       Parse(MakeNpy(1, Header("<i2", "True", "(2, 3, 4)"), Raw(values))));
  EXPECT_EQ(Values(array), expected);
}

TEST(NpyArrayTest, AllVersionsAndSpellingsOfTheHeaderAreRead) {
  for (int version = 1; version <= 3; ++version) {
    for (const std::string& header :
         {Header("<u1", "False", "(2,)"), Header("|u1", "False", "(2L,)"), Header("u1", "True", "( 2 , )"),
          std::string("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}")}) {
      ASSERT_OK_AND_ASSIGN(const TypedArray array, Parse(MakeNpy(version, header, "\x05\xFF")));
      EXPECT_THAT(Values(array), ElementsAre(5, 255));
    }
  }
}

TEST(NpyArrayTest, BigEndianIsRead) {
  ASSERT_OK_AND_ASSIGN(const TypedArray array,
                       Parse(MakeNpy(1, Header(">i4", "False", "(1,)"), std::string("\0\0\x01\x02", 4))));
  EXPECT_THAT(Values(array), ElementsAre(258));
}

TEST(NpyArrayTest, SizesThatDifferFromTheHeaderAreErrorsWithBothNumbers) {
  const std::string header = Header("<f4", "False", "(2, 3)");
  EXPECT_THAT(Parse(MakeNpy(1, header, std::string(20, '\0'))),
              StatusIs(kInvalid, AllOf(HasSubstr("file t.npy"), HasSubstr("needs 24 bytes"),
                                       HasSubstr("there are 20"))));
  EXPECT_THAT(Parse(MakeNpy(1, header, std::string(25, '\0'))),
              StatusIs(kInvalid, HasSubstr("there are 25")));
  EXPECT_THAT(Parse(MakeNpy(1, Header("<f4", "True", "(1000000000000, 3)"), "")),
              StatusIs(kInvalid, HasSubstr("needs 12000000000000 bytes")));
}

TEST(NpyArrayTest, HeadersThatAreWrongAreRefused) {
  const auto refused = [](const std::string& file, const std::string& problem) {
    EXPECT_THAT(Parse(file), StatusIs(kInvalid, AllOf(HasSubstr("file t.npy"), HasSubstr(problem)))) << file;
  };
  refused("", "not an NPY array");
  refused("PK\x03\x04 something else", "not an NPY array");
  refused(MakeNpy(4, Header("<f4", "False", "()"), ""), "version 4");
  refused(MakeNpy(1, "", "").substr(0, 9), "cut off");
  refused(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12), "claims 4294967295 bytes");
  refused(MakeNpy(1, Header("<c8", "False", "(1,)"), "12345678"), "\"<c8\" is not one of");
  refused(MakeNpy(1, Header("|O", "False", "(1,)"), "12345678"), "\"|O\" is not one of");
  refused(MakeNpy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"),
          "structured");
  refused(MakeNpy(1, "{'descr': '<f4', 'fortran_order': False}", ""), "missing");
  refused(MakeNpy(1, "{'descr': '<f4', 'descr': '<f4'}", ""), "once");
  refused(MakeNpy(1, "{'descr': '<f4", ""), "closing quote");
  refused(MakeNpy(1, Header("<f4", "Maybe", "(1,)"), "1234"), "True or False");
  refused(MakeNpy(1, Header("<f4", "False", "(-1,)"), "1234"), "a dimension");
  refused(MakeNpy(1, Header("<f4", "False", "(99999999999999999999,)"), ""), "a dimension");
  refused(MakeNpy(1, Header("<f4", "False", "(4294967296, 4294967296)"), ""), "makes no sense");
  refused(MakeNpy(1, Header("<f4", "False", "(1,)") + "x", "1234"), "expected the end");
}

}  // namespace
}  // namespace lockstep

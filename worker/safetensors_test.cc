// Writer and reader of safetensors files, against each other and against bytes written by hand.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_file_system.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/safetensors_reader.h"
#include "worker/safetensors_writer.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const float kMatrix[] = {1, 2, 3, 4, 5, 6};
const float kScalar[] = {0.5};

std::vector<NamedTensor> Tensors() {
  return {{"dense/kernel", {2, 3}, kMatrix}, {"a", {}, kScalar}, {"empty", {0, 4}, {}}};
}

// A file of the format: the length of `json`, `json`, `data`.
std::string File(const std::string& json, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(json.size() >> (8 * i)));
  return bytes + json + data;
}

class SafetensorsTest : public testing::Test {
 protected:
  std::string Write(const std::vector<NamedTensor>& tensors,
                    const std::map<std::string, std::string>& metadata = {}) {
    const std::unique_ptr<WritableFile> file = files_.CreateFile("/f").value();
    EXPECT_OK(WriteSafetensors(tensors, metadata, file.get()));
    return ReadWholeFile(&files_, "/f", 1 << 20).value();
  }
  absl::StatusOr<SafetensorsReader> Open(const std::string& bytes) {
    EXPECT_OK(WriteWholeFile(&files_, "/f", bytes));
    return SafetensorsReader::Open(&files_, "/f");
  }

  FakeFileSystem files_;
};

TEST_F(SafetensorsTest, TheWriterWritesTheseBytes) {
  const float values[] = {1, -2};
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(json.size() % 8, 5u);
  EXPECT_EQ(Write({{"b", {2}, values}}, {{"format", "pt"}}),
            File(json + "   ", std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8)));
}

TEST_F(SafetensorsTest, WhatIsWrittenIsRead) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsReader reader, Open(Write(Tensors(), {{"k", "v"}})));
  EXPECT_THAT(reader.entries(), SizeIs(3));
  EXPECT_EQ(reader.metadata().at("k"), "v");
  std::vector<float> matrix(6), scalar(1);
  ASSERT_OK(reader.ReadAll({{"a", {}, absl::MakeSpan(scalar)},
                            {"empty", {0, 4}, {}},
                            {"dense/kernel", {2, 3}, absl::MakeSpan(matrix)}},
                           "the model"));
  EXPECT_THAT(matrix, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(scalar, ElementsAre(0.5));
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsRead) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsReader reader, Open(Write({})));
  EXPECT_OK(reader.ReadAll({}, "the model"));
}

TEST_F(SafetensorsTest, EqualContentsGiveEqualBytesInAnyOrder) {
  std::vector<NamedTensor> tensors = Tensors();
  const std::string bytes = Write(tensors);
  std::swap(tensors[0], tensors[2]);
  EXPECT_EQ(Write(tensors), bytes);
}

TEST_F(SafetensorsTest, TheDataIsAligned) {
  for (int length = 1; length <= 16; ++length) {
    const std::string bytes = Write({{std::string(length, 'n'), {}, kScalar}});
    EXPECT_EQ(bytes.size() % 8, 4u);
  }
}

TEST_F(SafetensorsTest, TheWriterRefusesWhatItCouldNotReadBack) {
  const std::unique_ptr<WritableFile> file = files_.CreateFile("/f").value();
  EXPECT_THAT(
      WriteSafetensors({{"a", {2}, kScalar}}, {}, file.get()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensor \"a\" of the shape [2] has 1 values")));
  EXPECT_THAT(WriteSafetensors({{"a", {}, kScalar}, {"a", {}, kScalar}}, {}, file.get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two tensors \"a\"")));
}

TEST_F(SafetensorsTest, WhatDoesNotFitIsNamedWithBothSides) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsReader reader, Open(Write({{"dense/kernel", {2, 3}, kMatrix}})));
  std::vector<float> values(8, 7);
  const TensorDestination other_shape = {"dense/kernel", {2, 4}, absl::MakeSpan(values)};
  EXPECT_THAT(reader.ReadAll({other_shape}, "the model"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("dense/kernel: /f has [2, 3], the model has [2, 4]")));
  const TensorDestination right = {"dense/kernel", {2, 3}, absl::MakeSpan(values).first(6)};
  EXPECT_THAT(
      reader.ReadAll({right, {"dense/bias", {1}, absl::MakeSpan(values).first(1)}}, "the model"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("dense/bias: the model has it, /f has not")));
  EXPECT_THAT(reader.ReadAll({}, "the model"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/f has it, the model has not")));
  EXPECT_THAT(reader.ReadAll({{"dense/kernel", {2, 3}, absl::MakeSpan(values)}}, "the model"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has room for 8 values")));
  EXPECT_THAT(values, testing::Each(7)) << "nothing may be read when something does not fit";
}

TEST_F(SafetensorsTest, OtherTypesAreSeenButNotRead) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsReader reader,
                       Open(File(R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", "1234")));
  float value;
  EXPECT_THAT(reader.ReadAll({{"h", {2}, absl::MakeSpan(&value, 1)}}, "the model"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("F16 values, only F32")));
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string bytes = Write(Tensors());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Open(bytes.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/f"))) << size;
  }
  EXPECT_THAT(Open(bytes + "x"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/f")));
}

TEST_F(SafetensorsTest, NoFlippedBitDoesHarm) {
  const std::string bytes = Write(Tensors());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const absl::StatusOr<SafetensorsReader> reader = Open(damaged);
    if (reader.ok()) continue;
    EXPECT_THAT(reader, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/f")));
  }
}

struct Malformed {
  const char* json;
  const char* what;
};

TEST_F(SafetensorsTest, MalformedHeadersAreRefused) {
  for (const Malformed& c : {
           Malformed{"", "the header is not JSON"},
           {"[]", "the header is not a JSON object"},
           {R"({"a":1})", "\"a\" is not an object with dtype, shape and data_offsets"},
           {R"({"a":{"dtype":"F32","shape":[1]}})", "is not an object with dtype"},
           {R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", "a dtype that is not a string"},
           {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "the unknown dtype \"F31\""},
           {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "a shape that is not an array"},
           {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "a shape that is not an array"},
           {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "a shape that is not an array"},
           {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})",
            "a shape that is not an array"},
           {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
            "[4294967296, 4294967296] is not possible"},
           {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "data_offsets that are not two"},
           {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}})", "data_offsets that are not two"},
           {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "F32 [2] has 4 bytes"},
           {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "begins at byte 4"},
           {R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}})", "F64 [1] has 4 bytes"},
           {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "3 bytes of data, the file has 4"},
           {R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", "5 bytes of data, the file has 4"},
           {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
            "begins at byte 1 of the data, but 0"},
           {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],)"
            R"("data_offsets":[2,4]}})",
            "\"b\" begins at byte 2 of the data, but 3"},
           {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],)"
            R"("data_offsets":[0,4]}})",
            "the key \"a\" twice"},
           {R"({"__metadata__":[]})", "__metadata__ is not an object"},
           {R"({"__metadata__":{"k":1}})", "__metadata__ has a value that is not a string: \"k\""},
       }) {
    EXPECT_THAT(Open(File(c.json, "1234")), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(c.what)))
        << c.json;
  }
}

TEST_F(SafetensorsTest, ALengthBeyondTheFileIsRefusedBeforeItIsAllocated) {
  std::string bytes(16, ' ');
  for (const char first : {'\x09', '\xff'}) {
    bytes.replace(0, 8, std::string(1, first) + std::string(7, first == '\x09' ? '\0' : '\xff'));
    EXPECT_THAT(Open(bytes), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("but there can be at most 8")));
  }
}

}  // namespace
}  // namespace lockstep

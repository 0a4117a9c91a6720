#include "worker/strict_json.h"

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

TEST(StrictJsonTest, JsonIsParsed) {
  ASSERT_OK_AND_ASSIGN(const nlohmann::json value, ParseStrictJson(R"({"a": [1, {"b": "c"}, null]})"));
  EXPECT_EQ(value["a"][1]["b"], "c");
}

struct Malformed {
  const char* text;
  const char* message;
};

TEST(StrictJsonTest, SyntaxErrorsSayWhereAndWhat) {
  for (const Malformed& c : {
           Malformed{"", "is not JSON: line 1, column 1 (position 0): it ends too early"},
           {R"({"a":)", "is not JSON: line 1, column 6 (position 5): it ends too early"},
           {R"({"a)", "is not JSON: line 1, column 4 (position 3): it ends too early"},
           {R"({'a':1})",
            "is not JSON: line 1, column 2 (position 1): unexpected character ' (JSON strings stand in "
            "double "
            "quotes)"},
           {"{\n  \u201Ca\u201D: 1}",
            "is not JSON: line 2, column 3 (position 4): unexpected character \u201C (JSON strings stand in "
            "plain double quotes \")"},
           {"{\"a\": 1,\n}",
            "is not JSON: line 2, column 1 (position 9): unexpected character } after a comma"},
           {R"({"a":1}x)", "is not JSON: line 1, column 8 (position 7): unexpected character x"},
           {"[\"\x01\"]", R"(is not JSON: line 1, column 3 (position 2): unexpected character "\x01")"},
           {"[\"\xff\"]", R"(is not JSON: line 1, column 3 (position 2): unexpected character "\xff")"},
           {"[\"a\nb\"]", R"(is not JSON: line 1, column 4 (position 3): unexpected character "\n")"},
       }) {
    EXPECT_THAT(ParseStrictJson(c.text), StatusIs(absl::StatusCode::kInvalidArgument, Eq(c.message)))
        << c.text;
  }
}

TEST(StrictJsonTest, NumbersBeyondDoubleAreRefused) {
  EXPECT_THAT(ParseStrictJson("[1e999]"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("position")));
}

TEST(StrictJsonTest, AKeyThatStandsTwiceIsNamedByItsPath) {
  EXPECT_THAT(ParseStrictJson(R"({"a": [0, {"b": 1, "c": 2, "b": 3}]})"),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("has the key \"a[1].b\" twice")));
  EXPECT_OK(ParseStrictJson(R"({"a": {"b": 1}, "c": {"b": 1}})"));
}

TEST(StrictJsonTest, DeepNestingDoesNotExhaustTheStack) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_OK(ParseStrictJson(deep));
  EXPECT_THAT(ParseStrictJson(std::string(200'000, '[')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ends too early")));
}

}  // namespace
}  // namespace lockstep

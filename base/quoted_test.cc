#include "base/quoted.h"

#include <string>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(QuotedTest, PlainTextIsOnlyPutIntoQuotes) {
  EXPECT_EQ(Quoted("w0:5301"), "\"w0:5301\"");
  EXPECT_EQ(Quoted(""), "\"\"");
}

TEST(QuotedTest, NothingCanBreakTheLineOrTheQuotes) {
  EXPECT_EQ(Quoted("a\n\x1b\"\xff"), R"("a\n\x1b\"\xff")");
}

TEST(QuotedTest, LongValuesAreCutAndSayTheirLength) {
  EXPECT_EQ(Quoted(std::string(80, 'x')), "\"" + std::string(80, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(1000, 'x')), "\"" + std::string(80, 'x') + "...\" (1000 bytes)");
}

}  // namespace
}  // namespace lockstep

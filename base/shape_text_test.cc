#include "base/shape_text.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ShapeTextTest, ShapesAreWrittenInBrackets) {
  EXPECT_EQ(ShapeToString({}), "[]");
  EXPECT_EQ(ShapeToString({20, 64}), "[20, 64]");
}

}  // namespace
}  // namespace lockstep

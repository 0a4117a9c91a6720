#include "model/parameter_layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/parameter_layout_builder.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

ParameterLayout TwoParameters(const std::string& second_name = "dense/bias",
                              const Shape& first_shape = {3, 7}) {
  ParameterLayoutBuilder builder;
  builder.Add("dense/kernel", first_shape, 0.5f);
  builder.Add(second_name, {7});
  return builder.Build();
}

TEST(ParameterLayoutTest, EachParameterBeginsOnACacheLine) {
  const ParameterLayout layout = TwoParameters();
  EXPECT_EQ(layout.parameters()[0].offset, 0);
  EXPECT_EQ(layout.parameters()[0].size, 21);
  EXPECT_EQ(layout.parameters()[1].offset, 32);
  EXPECT_EQ(layout.size(), 48);
}

TEST(ParameterLayoutTest, FindsByName) {
  const ParameterLayout layout = TwoParameters();
  ASSERT_NE(layout.Find("dense/kernel"), nullptr);
  EXPECT_EQ(layout.Find("dense/kernel")->l2, 0.5f);
  EXPECT_EQ(layout.Find("dense/kernel")->shape, Shape({3, 7}));
  EXPECT_EQ(layout.Find("dense"), nullptr);
}

TEST(ParameterLayoutTest, HashTellsNamesAndShapesApart) {
  EXPECT_EQ(TwoParameters().hash(), TwoParameters().hash());
  EXPECT_NE(TwoParameters().hash(), TwoParameters("dense/offset").hash());
  EXPECT_NE(TwoParameters().hash(), TwoParameters("dense/bias", {7, 3}).hash());
}

TEST(ParameterLayoutTest, PrintsOneLinePerParameter) {
  EXPECT_THAT(TwoParameters().ToString(), HasSubstr("dense/bias [7] at 32\n"));
}

TEST(ParameterLayoutTest, BuilderStartsAnewAfterBuild) {
  ParameterLayoutBuilder builder;
  builder.Add("a", {5});
  builder.Build();
  EXPECT_EQ(builder.Build().size(), 0);
}

}  // namespace
}  // namespace lockstep

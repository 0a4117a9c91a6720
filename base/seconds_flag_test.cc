#include "base/seconds_flag.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(SecondsFlagTest, FinitePositiveNumbersPass) {
  for (const char* text : {"1", "0.001", "1e6"}) EXPECT_EQ(CheckSeconds(text), "") << text;
}

TEST(SecondsFlagTest, WhatWouldWaitForEverOrNeverIsRefused) {
  for (const char* text : {"nan", "inf", "1e300", "0", "-1", "", "ten"})
    EXPECT_THAT(CheckSeconds(text), HasSubstr("is not a number of seconds")) << text;
}

}  // namespace
}  // namespace lockstep

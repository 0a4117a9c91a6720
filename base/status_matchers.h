// GoogleTest matchers for absl::Status and absl::StatusOr. For tests only.
#ifndef LOCKSTEP_BASE_STATUS_MATCHERS_H_
#define LOCKSTEP_BASE_STATUS_MATCHERS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

// The expected code and a matcher of the message. There is deliberately no "is not OK" matcher.
MATCHER_P2(StatusIs, code, message, "") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code && ::testing::Matches(message)(std::string(GetStatus(arg).message()));
}

#define ASSERT_OK(expr) ASSERT_THAT((expr), ::lockstep::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT((expr), ::lockstep::IsOk())

#define LOCKSTEP_TEST_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_TEST_CONCAT_(a, b) LOCKSTEP_TEST_CONCAT_INNER_(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  LOCKSTEP_ASSERT_OK_AND_ASSIGN_(LOCKSTEP_TEST_CONCAT_(status_or_, __LINE__), lhs, expr)
#define LOCKSTEP_ASSERT_OK_AND_ASSIGN_(status_or, lhs, expr) \
  auto status_or = (expr);                                   \
  ASSERT_THAT(status_or, ::lockstep::IsOk());                \
  lhs = std::move(status_or).value()

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_STATUS_MATCHERS_H_

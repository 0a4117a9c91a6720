// Early return on errors: RETURN_IF_ERROR(expr) and ASSIGN_OR_RETURN(lhs, expr).
#ifndef LOCKSTEP_BASE_STATUS_MACROS_H_
#define LOCKSTEP_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expr` from the enclosing function unless it is OK.
#define RETURN_IF_ERROR(expr)                                                                      \
  do {                                                                                             \
    if (::absl::Status lockstep_status_ = (expr); !lockstep_status_.ok()) return lockstep_status_; \
  } while (false)

#define LOCKSTEP_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_CONCAT_(a, b) LOCKSTEP_CONCAT_INNER_(a, b)

// Assigns the value of the StatusOr `expr` to `lhs` (which may declare a variable) or returns its status.
#define ASSIGN_OR_RETURN(lhs, expr) \
  LOCKSTEP_ASSIGN_OR_RETURN_(LOCKSTEP_CONCAT_(lockstep_status_or_, __LINE__), lhs, expr)

#define LOCKSTEP_ASSIGN_OR_RETURN_(status_or, lhs, expr)     \
  auto status_or = (expr);                                   \
  if (!status_or.ok()) return std::move(status_or).status(); \
  lhs = std::move(status_or).value()

#endif  // LOCKSTEP_BASE_STATUS_MACROS_H_

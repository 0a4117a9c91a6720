// How shapes are written in messages: "[20, 64]", "[]" for a scalar.
#ifndef LOCKSTEP_BASE_SHAPE_TEXT_H_
#define LOCKSTEP_BASE_SHAPE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace lockstep {

inline std::string ShapeToString(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_SHAPE_TEXT_H_

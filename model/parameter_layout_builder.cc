#include "model/parameter_layout_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace lockstep {
namespace {

int64_t RoundUp(int64_t elements) {
  return (elements + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
}

// Text with separators that names and shapes cannot hold, so that different layouts never read the same.
uint64_t HashOf(const ParameterLayout& layout) {
  std::string text;
  for (const Parameter& parameter : layout.parameters()) {
    absl::StrAppend(&text, parameter.name, "\n", ShapeToString(parameter.shape), "\n", parameter.offset,
                    "\n");
  }
  return Hash64(text);
}

}  // namespace

int64_t ParameterLayoutBuilder::Add(std::string name, Shape shape, float l2) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.offset = layout_.size_;
  parameter.size = NumElements(parameter.shape);
  parameter.l2 = l2;
  layout_.size_ += RoundUp(parameter.size);
  layout_.parameters_.push_back(std::move(parameter));
  return layout_.parameters_.back().offset;
}

ParameterLayout ParameterLayoutBuilder::Build() {
  layout_.hash_ = HashOf(layout_);
  return std::exchange(layout_, ParameterLayout());
}

}  // namespace lockstep

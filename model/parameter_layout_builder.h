// Builds a ParameterLayout. One-thread.
#ifndef LOCKSTEP_MODEL_PARAMETER_LAYOUT_BUILDER_H_
#define LOCKSTEP_MODEL_PARAMETER_LAYOUT_BUILDER_H_

#include <cstdint>
#include <string>

#include "model/parameter_layout.h"
#include "model/shape.h"

namespace lockstep {

class ParameterLayoutBuilder {
 public:
  // Appends a parameter at the next aligned offset and returns that offset. Names must differ from each
  // other; the shape must have passed CheckShape.
  int64_t Add(std::string name, Shape shape, float l2 = 0);

  // Elements so far, padding included: the offset of the next parameter.
  int64_t size() const { return layout_.size(); }

  // The layout of what was added. The builder is empty afterwards.
  ParameterLayout Build();

 private:
  ParameterLayout layout_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_PARAMETER_LAYOUT_BUILDER_H_

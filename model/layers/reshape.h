// Gives the values of a row another shape. Never copies: the network hands the values on.
#ifndef LOCKSTEP_MODEL_LAYERS_RESHAPE_H_
#define LOCKSTEP_MODEL_LAYERS_RESHAPE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/layer.h"

namespace lockstep {
namespace v1 {
class Reshape;
}  // namespace v1

class Reshape : public Layer {
 public:
  // Errors: INVALID_ARGUMENT the sizes do not make up the input's elements, or more than one is -1.
  static absl::StatusOr<std::unique_ptr<Reshape>> Create(std::string name, const Shape& input_shape,
                                                         const v1::Reshape& spec);
  // All axes of a row become one.
  static std::unique_ptr<Reshape> CreateFlatten(std::string name, const Shape& input_shape);

  bool PassesThrough(const PassContext& context) const override;
  absl::Status Prepare(int64_t rows) override;
  absl::Status Forward(const ForwardArgs& args) override;
  absl::Status Backward(const BackwardArgs& args) override;

 private:
  using Layer::Layer;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_RESHAPE_H_

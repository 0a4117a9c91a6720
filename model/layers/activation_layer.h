// An activation function as a layer of its own.
#ifndef LOCKSTEP_MODEL_LAYERS_ACTIVATION_LAYER_H_
#define LOCKSTEP_MODEL_LAYERS_ACTIVATION_LAYER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernels/activation_function.h"
#include "model/kernels/matrix_size.h"
#include "model/layer.h"

namespace lockstep {
namespace v1 {
class ActivationLayer;
}  // namespace v1

class ActivationLayer : public Layer {
 public:
  // Errors: INVALID_ARGUMENT the function is missing or unknown, or its slope is out of range.
  static absl::StatusOr<std::unique_ptr<ActivationLayer>> Create(std::string name, const Shape& input_shape,
                                                                 const v1::ActivationLayer& spec);

  bool PassesThrough(const PassContext& context) const override;
  absl::Status Prepare(int64_t rows) override;
  absl::Status Forward(const ForwardArgs& args) override;
  absl::Status Backward(const BackwardArgs& args) override;

 private:
  ActivationLayer(LayerInfo info, const Activation& activation);

  // Softmax works on the last axis: all others count as rows.
  MatrixSize SizeOf(int64_t rows) const;

  const Activation activation_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_ACTIVATION_LAYER_H_

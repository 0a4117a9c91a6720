// Sets random elements to zero in training (Srivastava et al. 2014), scaled so that inference needs nothing.
// Which elements depends on (seed, layer's name, step, row of the global batch, element) alone.
#ifndef LOCKSTEP_MODEL_LAYERS_DROPOUT_H_
#define LOCKSTEP_MODEL_LAYERS_DROPOUT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernels/dropout.h"
#include "model/layer.h"

namespace lockstep {
namespace v1 {
class Dropout;
}  // namespace v1

class Dropout : public Layer {
 public:
  // Errors: INVALID_ARGUMENT the rate is not in [0, 1).
  static absl::StatusOr<std::unique_ptr<Dropout>> Create(std::string name, const Shape& input_shape,
                                                         const v1::Dropout& spec);

  bool PassesThrough(const PassContext& context) const override;
  absl::Status Prepare(int64_t rows) override;
  absl::Status Forward(const ForwardArgs& args) override;
  absl::Status Backward(const BackwardArgs& args) override;

 private:
  Dropout(LayerInfo info, float rate);

  DropoutMask MaskOf(const PassContext& context) const;

  const float rate_;
  const uint64_t stream_;  // tells the layers of a network apart
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_DROPOUT_H_

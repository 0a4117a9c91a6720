// y = activation(x . kernel + bias) over the last axis of x, which may have any number of axes.
//
// kernel [I, O] and bias [O] are used where they lie in the flat buffer; there is no packed copy.
#ifndef LOCKSTEP_MODEL_LAYERS_DENSE_H_
#define LOCKSTEP_MODEL_LAYERS_DENSE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "model/kernels/activation_function.h"
#include "model/kernels/matrix_size.h"
#include "model/layer.h"
#include "model/layers/dense_products.h"

namespace lockstep {
namespace v1 {
class Dense;
}  // namespace v1

class Dense : public Layer {
 public:
  // Errors: INVALID_ARGUMENT a field of the specification is out of range; names the field.
  static absl::StatusOr<std::unique_ptr<Dense>> Create(std::string name, const Shape& input_shape,
                                                       const v1::Dense& spec);

  bool PassesThrough(const PassContext& context) const override;
  absl::Status Prepare(int64_t rows) override;
  absl::Status Forward(const ForwardArgs& args) override;
  absl::Status Backward(const BackwardArgs& args) override;

 private:
  Dense(LayerInfo info, const Activation& activation);

  bool use_bias() const { return info().parameters.size() == 2; }
  int64_t inputs() const { return info().input_shape.back(); }
  int64_t units() const { return info().output_shape.back(); }
  // All axes but the last count as rows.
  MatrixSize OutputSize(int64_t rows) const;
  absl::StatusOr<DenseProducts*> ProductsFor(int64_t rows);

  const Activation activation_;
  std::map<int64_t, DenseProducts> products_;  // by rows
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_DENSE_H_

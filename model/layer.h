// One step of a network. A layer describes itself (LayerInfo) and computes; it owns neither parameters nor
// activations: the network passes views of its flat buffers and of its arena.
//
// What a layer keeps from Prepare is code for a size, never values of a pass. One-thread.
#ifndef LOCKSTEP_MODEL_LAYER_H_
#define LOCKSTEP_MODEL_LAYER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/initializer.h"
#include "model/pass_context.h"
#include "model/shape.h"

namespace lockstep {

struct ParameterSpec {
  std::string name;  // within the layer: "kernel"
  Shape shape;
  Initializer initializer;
  float l2 = 0;
};

struct LayerInfo {
  std::string name;      // unique in the network: "dense_1"
  std::string kind;      // "dense"
  Shape input_shape;     // of one row
  Shape output_shape;    // of one row
  bool softmax = false;  // the output is a softmax over its last axis
  std::vector<ParameterSpec> parameters;
  int64_t flops_per_row = 0;  // of a forward pass, a multiplication and an addition counted as two
  // Elements per row that Forward leaves for Backward, and that Backward may use for itself.
  int64_t cache_per_row = 0;
  int64_t scratch_per_row = 0;
};

// Matrices have `rows` rows of the layer's shapes, at least one.
struct ForwardArgs {
  const PassContext& context;
  int64_t rows;
  absl::Span<const float* const> parameters;  // in the order of LayerInfo::parameters
  const float* input;
  float* output;  // overwritten
  float* cache;   // overwritten; rows * cache_per_row
};

struct BackwardArgs {
  const PassContext& context;  // that of the forward pass, as are rows, parameters, input, output and cache
  int64_t rows;
  absl::Span<const float* const> parameters;
  const float* input;
  const float* output;
  const float* cache;
  const float* output_gradient;
  absl::Span<float* const> parameter_gradients;  // overwritten with sums over the rows
  float* input_gradient;                         // overwritten; null if nobody needs it
  float* scratch;                                // rows * scratch_per_row
};

class Layer {
 public:
  virtual ~Layer() = default;

  const LayerInfo& info() const { return info_; }

  // Whether a pass leaves the values as they are. Then the network hands the input on as the output, and the
  // output's gradient as the input's, and calls neither Forward nor Backward.
  virtual bool PassesThrough(const PassContext& context) const = 0;

  // Makes what passes of `rows` rows need, with the thread count of those passes set. Costs nothing if it has
  // been made before.
  virtual absl::Status Prepare(int64_t rows) = 0;

  virtual absl::Status Forward(const ForwardArgs& args) = 0;
  virtual absl::Status Backward(const BackwardArgs& args) = 0;

 protected:
  explicit Layer(LayerInfo info) : info_(std::move(info)) {}

 private:
  const LayerInfo info_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYER_H_

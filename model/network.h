// A stack of layers with its parameters' layout: forward and backward passes over the rows of a micro-batch.
//
// The caller owns parameters and gradients, flat buffers of layout().size() elements. The network owns the
// activations: one arena, made by Prepare for the largest micro-batch, so that a pass allocates nothing but
// what oneDNN needs within a product.
//
//   Create -> Initialize -> Prepare -> { Forward -> Backward } per step
//
// The same inputs give the same bits on the same machine. One-thread.
#ifndef LOCKSTEP_MODEL_NETWORK_H_
#define LOCKSTEP_MODEL_NETWORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/arena.h"
#include "model/gradient_sink.h"
#include "model/layer.h"
#include "model/parameter_layout.h"
#include "model/pass_context.h"
#include "model/shape.h"

namespace lockstep {
namespace v1 {
class Model;
}  // namespace v1

struct LayerSummary {
  std::string name;
  std::string kind;
  Shape output_shape;
  int64_t parameters;  // elements, without padding
  int64_t flops_per_row;
  int64_t activation_bytes_per_row;
};

class Network {
 public:
  // Errors: INVALID_ARGUMENT a mistake in the specification; the message names the layer, for example
  // "model.layers[2] (dense_1): units is 0, must be at least 1".
  static absl::StatusOr<std::unique_ptr<Network>> Create(const v1::Model& spec);

  // Shapes of one row.
  const Shape& input_shape() const;
  const Shape& output_shape() const;
  const ParameterLayout& layout() const { return layout_; }
  // In order of the forward pass.
  std::vector<LayerSummary> Summary() const;
  // Whether the outputs are probabilities that a softmax made.
  bool ends_in_softmax() const;

  // Overwrites `parameters`, which has layout().size() elements. Each value is a pure function of (seed,
  // parameter's name, element).
  void Initialize(uint64_t seed, absl::Span<float> parameters) const;

  // Makes the arena for micro-batches of up to `max_rows` rows, and code for exactly `max_rows`. Code for
  // another row count is made in the first pass that has it. May be called again for other rows.
  // Errors: INVALID_ARGUMENT max_rows or threads out of range. FAILED_PRECONDITION other threads than before.
  // RESOURCE_EXHAUSTED the activations need more memory than the machine has. INTERNAL oneDNN failed.
  absl::Status Prepare(int64_t max_rows, int threads);

  // Computes the outputs [rows, outputs] for features [rows, inputs], rows from 0 to max_rows. The result is
  // valid until the next Forward; after a pass in training, features and parameters must stay until Backward.
  // Errors: FAILED_PRECONDITION Prepare is missing. INVALID_ARGUMENT rows or the size of `parameters` is out
  // of range. INTERNAL oneDNN failed.
  absl::StatusOr<const float*> Forward(absl::Span<const float> parameters, const float* features,
                                       int64_t rows, const PassContext& context);

  // Computes the gradients of the loss from that of the outputs of the last Forward, which must have been in
  // training. OVERWRITES all gradients, padding included, with SUMS over the rows: zero if there are none.
  // The sink, if any, hears of each layer's range in ascending order. Errors: FAILED_PRECONDITION no such
  // Forward. INVALID_ARGUMENT a size is wrong. INTERNAL oneDNN failed.
  absl::Status Backward(absl::Span<const float> parameters, const float* output_gradient,
                        absl::Span<float> gradients, GradientSink* sink);

  int64_t arena_bytes() const { return arena_.bytes(); }

 private:
  // A layer, its range of the flat buffers and its slices of the arena.
  struct Node {
    std::unique_ptr<Layer> layer;
    std::vector<int64_t> offsets;  // of its parameters
    int64_t begin = 0, end = 0;    // its range, padding included
    int64_t output_slice = 0, cache_slice = 0;
    // Views of the current pass, kept to spare allocations.
    std::vector<const float*> parameters;
    std::vector<float*> gradients;
  };

  // The last Forward in training, for Backward.
  struct Pass {
    PassContext context;
    int64_t rows;
  };

  explicit Network(std::vector<std::unique_ptr<Layer>> layers);

  void LayOutParameters();
  void PlanArena(int64_t max_rows);
  bool HasParameters(const Node& node) const { return node.end > node.begin; }
  absl::Status CheckSize(size_t elements, const char* what) const;
  absl::Status RunForward(Node& node, const float* parameters, const float* input, const Pass& pass);
  absl::Status RunBackward(size_t index, const float* parameters, float* gradients,
                           const float* output_gradient, float* input_gradient);
  void ClearPadding(absl::Span<float> gradients) const;

  std::vector<Node> nodes_;
  ParameterLayout layout_;
  // The lowest layer with parameters, which is where backward ends; nodes_.size() if there is none.
  size_t lowest_trained_;

  int64_t max_rows_ = 0;
  int threads_ = 0;
  Arena arena_;
  int64_t gradient_slices_[2] = {0, 0};  // of the activations' gradients, by turns
  int64_t scratch_slice_ = 0;

  std::vector<const float*> values_;  // [i]: input of layer i; [i + 1]: its output
  std::optional<Pass> last_pass_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_NETWORK_H_

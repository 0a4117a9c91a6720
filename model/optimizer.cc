#include "model/optimizer.h"

#include <utility>

#include "base/logging.h"
#include "proto/model.pb.h"

namespace lockstep {

Optimizer::Optimizer(std::string name, std::vector<SlotSpec> slots,
                     std::unique_ptr<LearningRate> learning_rate)
    : name_(std::move(name)), slots_(std::move(slots)), learning_rate_(std::move(learning_rate)) {
  CHECK_LE(slots_.size(), static_cast<size_t>(UpdateBuffers::kMaxSlots));
}

void Optimizer::Apply(int64_t step, double learning_rate, absl::Span<const float> gradients,
                      absl::Span<float> parameters, absl::Span<const absl::Span<float>> slots) const {
  CHECK_GE(step, 1);
  CHECK_EQ(gradients.size(), parameters.size());
  CHECK_EQ(slots.size(), slots_.size());
  UpdateBuffers buffers;
  buffers.size = static_cast<int64_t>(parameters.size());
  buffers.gradients = gradients.data();
  buffers.parameters = parameters.data();
  for (size_t s = 0; s < slots.size(); ++s) {
    CHECK_EQ(slots[s].size(), parameters.size()) << slots_[s].name;
    buffers.slots[s] = slots[s].data();
  }
  Update(step, learning_rate, buffers);
}

}  // namespace lockstep

#include "worker/replica.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/physical_memory.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<Replica>> Replica::Create(const v1::Model& model, const v1::Compile& compile) {
  ASSIGN_OR_RETURN(CompiledModel compiled, CompileModel(model, compile));
  if (compiled.StateBytes() > PhysicalMemoryBytes()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "parameters, gradients and optimizer slots of the model take %d MB, this machine has %d MB of memory",
        compiled.StateBytes() / 1000000, PhysicalMemoryBytes() / 1000000));
  }
  return std::unique_ptr<Replica>(new Replica(std::move(compiled)));
}

Replica::Replica(CompiledModel compiled) : compiled_(std::move(compiled)) {
  const int64_t size = network().layout().size();
  parameters_ = AlignedBuffer<float>(size);
  for (size_t i = 0; i < optimizer().slots().size(); ++i) slots_.emplace_back(size);
  for (const AlignedBuffer<float>& slot : slots_) slot_spans_.push_back(slot.span());
  ResetSlots();
}

void Replica::Initialize(uint64_t seed) {
  network().Initialize(seed, parameters());
  ResetSlots();
  step_ = 0;
}

void Replica::ResetSlots() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    // Padding between parameters stays zero, so that the buffers' bits depend on named values alone.
    for (const Parameter& parameter : network().layout().parameters()) {
      std::fill_n(slots_[i].data() + parameter.offset, parameter.size, optimizer().slots()[i].initial);
    }
  }
}

std::vector<std::string> Replica::MetricNames() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Metric>& metric : metrics()) names.push_back(metric->name());
  return names;
}

void Replica::Update(double learning_rate, absl::Span<const float> gradients) {
  ++step_;
  optimizer().Apply(step_, learning_rate, gradients, parameters(), slot_spans_);
}

std::string Replica::NonFiniteGradient(absl::Span<const float> gradients) const {
  for (const Parameter& parameter : network().layout().parameters()) {
    for (const float value : gradients.subspan(parameter.offset, parameter.size))
      if (!std::isfinite(value)) return parameter.name;
  }
  return "";
}

uint64_t Replica::ParameterHash() const {
  return Hash64(parameters_.data(), parameters_.size() * sizeof(float));
}

uint64_t Replica::Hash() const {
  std::vector<uint64_t> hashes = {ParameterHash()};
  for (const AlignedBuffer<float>& slot : slots_)
    hashes.push_back(Hash64(slot.data(), slot.size() * sizeof(float)));
  return CombineHashes(hashes);
}

uint64_t Replica::CombineHashes(absl::Span<const uint64_t> hashes) {
  return Hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
}

}  // namespace lockstep

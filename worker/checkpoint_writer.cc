#include "worker/checkpoint_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/logging.h"

namespace lockstep {
namespace {

// A step's checkpoint and the best one. A third save of one state waits.
constexpr size_t kMostQueued = 2;

// Tensors start on cache lines of their own.
size_t Padded(size_t size) {
  constexpr size_t kFloats = AlignedBytes::kAlignment / sizeof(float);
  return (size + kFloats - 1) / kFloats * kFloats;
}

size_t PaddedSize(const std::vector<NamedTensor>& tensors) {
  size_t size = 0;
  for (const NamedTensor& tensor : tensors) size += Padded(tensor.values.size());
  return size;
}

// Copies the values of `tensors` to `out` and points the tensors there. Returns the end.
float* MoveValues(float* out, std::vector<NamedTensor>* tensors) {
  for (NamedTensor& tensor : *tensors) {
    std::copy(tensor.values.begin(), tensor.values.end(), out);
    tensor.values = absl::MakeConstSpan(out, tensor.values.size());
    out += Padded(tensor.values.size());
  }
  return out;
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointStore* store) : store_(store), thread_([this] { Run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
  for (absl::Status error = TakeError(); !error.ok(); error = TakeError()) LOG(ERROR) << error.message();
}

absl::Status CheckpointWriter::Save(Target target, const CheckpointContents& contents) {
  bool copied = IsCopied(contents);
  {
    MutexLock lock(&mutex_);
    if (!copied || queue_.size() >= kMostQueued) mutex_.Await(Condition(this, &CheckpointWriter::IsIdle));
    if (!errors_.empty()) return TakeErrorLocked();
  }
  // With an empty queue the thread touches nothing of the copy.
  if (!copied) Copy(contents);
  MutexLock lock(&mutex_);
  queue_.push_back({target, contents.manifest});
  return absl::OkStatus();
}

absl::Status CheckpointWriter::Flush() {
  MutexLock lock(&mutex_);
  mutex_.Await(Condition(this, &CheckpointWriter::IsIdle));
  return TakeErrorLocked();
}

absl::Status CheckpointWriter::TakeError() {
  MutexLock lock(&mutex_);
  return TakeErrorLocked();
}

absl::Status CheckpointWriter::TakeErrorLocked() {
  if (errors_.empty()) return absl::OkStatus();
  absl::Status error = std::move(errors_.front());
  errors_.pop_front();
  return error;
}

CheckpointWriter::Stats CheckpointWriter::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

bool CheckpointWriter::IsCopied(const CheckpointContents& contents) const {
  return !copied_hash_.empty() && copied_hash_ == contents.manifest.parameter_hash() &&
         copied_step_ == contents.manifest.step();
}

void CheckpointWriter::Copy(const CheckpointContents& contents) {
  const size_t size = PaddedSize(contents.model) + PaddedSize(contents.optimizer);
  if (size > values_.size()) values_ = AlignedBuffer<float>(size);
  copy_.model = contents.model;
  copy_.optimizer = contents.optimizer;
  MoveValues(MoveValues(values_.data(), &copy_.model), &copy_.optimizer);
  copied_step_ = contents.manifest.step();
  copied_hash_ = contents.manifest.parameter_hash();
}

void CheckpointWriter::Run() {
  while (true) {
    Write write;
    {
      MutexLock lock(&mutex_);
      mutex_.Await(Condition(this, &CheckpointWriter::HasWorkOrStops));
      if (queue_.empty()) return;
      write = queue_.front();
    }
    const absl::Time start = absl::Now();
    absl::Status status = WriteCopy(write);
    const absl::Duration taken = absl::Now() - start;
    MutexLock lock(&mutex_);
    stats_.writing += taken;
    if (status.ok()) {
      ++stats_.written;
    } else {
      errors_.push_back(std::move(status));
    }
    queue_.pop_front();
  }
}

absl::Status CheckpointWriter::WriteCopy(const Write& write) {
  copy_.manifest = write.manifest;
  const absl::Status status = write.target == Target::kStep ? store_->Save(copy_) : store_->SaveBest(copy_);
  if (status.ok()) return status;
  const std::string best = write.target == Target::kBest ? "best " : "";
  return absl::Status(status.code(), absl::StrCat("the ", best, "checkpoint of step ", write.manifest.step(),
                                                  " cannot be saved: ", status.message()));
}

}  // namespace lockstep

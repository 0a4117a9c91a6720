#include "worker/checkpoint_writer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// A step's checkpoint and the best one.
constexpr size_t kMostQueued = 2;

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

absl::StatusOr<std::vector<uint64_t>> CheckpointWriter::Copy(
    absl::Span<const absl::Span<const float>> buffers) {
  RETURN_IF_ERROR(Flush());
  // With an empty queue the thread touches nothing of the copy.
  copied_.resize(buffers.size());
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Copied& copied = copied_[i];
    if (copied.copy.size() != buffers[i].size()) copied.copy = AlignedBuffer<float>(buffers[i].size());
    copied.original = buffers[i];
    hashes.push_back(CopyAndHash64(buffers[i].data(), buffers[i].size() * sizeof(float), copied.copy.data()));
  }
  return hashes;
}

void CheckpointWriter::Write(Target target, CheckpointContents contents) {
  MoveToCopy(&contents.model);
  MoveToCopy(&contents.optimizer);
  MutexLock lock(&mutex_);
  mutex_.Await(Condition(this, &CheckpointWriter::HasRoom));
  queue_.push_back({target, std::move(contents)});
}

bool CheckpointWriter::HasRoom() const { return queue_.size() < kMostQueued; }

void CheckpointWriter::MoveToCopy(std::vector<NamedTensor>* tensors) const {
  for (NamedTensor& tensor : *tensors) {
    const auto holder = std::find_if(copied_.begin(), copied_.end(), [&tensor](const Copied& copied) {
      return std::less_equal<>()(copied.original.begin(), tensor.values.begin()) &&
             std::less_equal<>()(tensor.values.end(), copied.original.end());
    });
    CHECK(holder != copied_.end()) << tensor.name << " was not copied";
    const size_t offset = static_cast<size_t>(tensor.values.begin() - holder->original.begin());
    tensor.values = holder->copy.span().subspan(offset, tensor.values.size());
  }
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

void CheckpointWriter::Run() {
  while (true) {
    const Queued* next = nullptr;
    {
      MutexLock lock(&mutex_);
      mutex_.Await(Condition(this, &CheckpointWriter::HasWorkOrStops));
      if (queue_.empty()) return;
      next = &queue_.front();  // stays where it is while others are added
    }
    const absl::Time start = absl::Now();
    absl::Status status = WriteNow(*next);
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

absl::Status CheckpointWriter::WriteNow(const Queued& queued) {
  const bool best = queued.target == Target::kBest;
  const absl::Status status = best ? store_->SaveBest(queued.contents) : store_->Save(queued.contents);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("the ", best ? "best " : "", "checkpoint of step ",
                                   queued.contents.manifest.step(), " cannot be saved: ", status.message()));
}

}  // namespace lockstep

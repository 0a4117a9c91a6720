#include "data/batch_loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/physical_memory.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kMostThreads = 256;
constexpr int kMostPrefetch = 4096;

absl::Duration Since(std::chrono::steady_clock::time_point start) {
  return absl::FromChrono(std::chrono::steady_clock::now() - start);
}

absl::Status CheckRange(const char* name, int value, int most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " outside [1, ", most, "]"));
}

// In double, which cannot overflow: the answer is needed for sizes that make no sense.
absl::Status CheckMemory(const DatasetInfo& info, int64_t batch_rows, int slots) {
  const double row_bytes =
      sizeof(float) * static_cast<double>(info.feature_elements() + info.label_elements());
  const double needed = row_bytes * static_cast<double>(batch_rows) * slots;
  const double memory = static_cast<double>(PhysicalMemoryBytes());
  if (needed <= memory) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(slots, " batch buffers of ", batch_rows, " rows need ",
                                                   needed / 1e9, " GB, more than the ", memory / 1e9,
                                                   " GB of this machine; use a smaller batch or prefetch"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchLoader>> BatchLoader::Create(std::shared_ptr<const Dataset> dataset,
                                                                 Sampler sampler,
                                                                 const BatchLoaderOptions& options) {
  RETURN_IF_ERROR(CheckRange("prefetch", options.prefetch, kMostPrefetch));
  RETURN_IF_ERROR(CheckRange("threads", options.threads, kMostThreads));
  // One more than are prepared in advance: the batch in the consumer's hands.
  const int slots = std::max(options.prefetch, options.threads) + 1;
  RETURN_IF_ERROR(CheckMemory(dataset->info(), sampler.largest_share(), slots));
  std::unique_ptr<BatchLoader> loader(
      new BatchLoader(std::move(dataset), std::move(sampler), options, slots));
  loader->AllocateSlots();
  for (int i = 0; i < options.threads; ++i) {
    loader->threads_.emplace_back(&BatchLoader::ReadBatches, loader.get());
  }
  return loader;
}

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> dataset, Sampler sampler,
                         const BatchLoaderOptions& options, int slots)
    : dataset_(std::move(dataset)),
      sampler_(std::move(sampler)),
      options_(options),
      slots_(slots),
      next_to_hand_out_(options.first_epoch * sampler_.steps_per_epoch() + options.first_step),
      next_to_claim_(next_to_hand_out_) {}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void BatchLoader::AllocateSlots() {
  const DatasetInfo& info = dataset_->info();
  const int64_t rows = sampler_.largest_share();
  for (Slot& slot : slots_) {
    slot.batch.row_numbers.reserve(rows);
    slot.batch.features = AlignedBuffer<float>(rows * info.feature_elements());
    if (info.label_kind == LabelKind::kClass) {
      slot.batch.classes = AlignedBuffer<int32_t>(rows);
    } else {
      slot.batch.values = AlignedBuffer<float>(rows * info.label_elements());
    }
  }
}

void BatchLoader::Seek(int64_t epoch, int64_t step) {
  CHECK(epoch >= 0 && step >= 0) << "epoch " << epoch << " step " << step;
  MutexLock lock(&mutex_);
  seeking_ = true;
  mutex_.Await(Condition(this, &BatchLoader::NoReadUnderWay));
  for (Slot& slot : slots_) slot.is_read = false;
  next_to_hand_out_ = epoch * sampler_.steps_per_epoch() + step;
  next_to_claim_ = next_to_hand_out_;
  handed_out_ = false;
  seeking_ = false;
}

absl::StatusOr<const Batch*> BatchLoader::Next() {
  const auto start = std::chrono::steady_clock::now();
  MutexLock lock(&mutex_);
  if (handed_out_) {
    SlotOf(next_to_hand_out_).is_read = false;
    ++next_to_hand_out_;
    handed_out_ = false;
  }
  Slot& slot = SlotOf(next_to_hand_out_);
  mutex_.Await(Condition(&slot.is_read));
  stats_.waited += Since(start);
  RETURN_IF_ERROR(slot.status);
  handed_out_ = true;
  return &slot.batch;
}

BatchLoader::Stats BatchLoader::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

bool BatchLoader::MayClaimOrStopped() const {
  const int64_t ahead = next_to_claim_ - next_to_hand_out_;
  return stopped_ || (!seeking_ && ahead < static_cast<int64_t>(slots_.size()));
}

void BatchLoader::ReadBatches() {
  while (true) {
    int64_t sequence_number = 0;
    {
      MutexLock lock(&mutex_);
      mutex_.Await(Condition(this, &BatchLoader::MayClaimOrStopped));
      if (stopped_) return;
      sequence_number = next_to_claim_++;
      ++reads_under_way_;
    }
    const auto start = std::chrono::steady_clock::now();
    Slot& slot = SlotOf(sequence_number);
    slot.status = Fill(sequence_number, &slot.batch);
    MutexLock lock(&mutex_);
    slot.is_read = true;
    --reads_under_way_;
    stats_.reading += Since(start);
  }
}

absl::Status BatchLoader::Fill(int64_t sequence_number, Batch* batch) const {
  batch->epoch = sequence_number / sampler_.steps_per_epoch();
  batch->step_in_epoch = sequence_number % sampler_.steps_per_epoch();
  const Sampler::StepShare share = sampler_.Share(batch->epoch, batch->step_in_epoch);
  batch->global_rows = share.global_rows;
  batch->first_row_in_batch = share.first_row_in_batch;
  batch->rows = share.rows;
  sampler_.RowNumbers(batch->epoch, batch->step_in_epoch, &batch->row_numbers);
  const LabelBuffer labels = {batch->classes.data(), batch->values.data()};
  RETURN_IF_ERROR(dataset_->Read(batch->row_numbers, batch->features.data(), labels));
  return CheckClasses(*batch);
}

absl::Status BatchLoader::CheckClasses(const Batch& batch) const {
  if (options_.num_classes == 0 || dataset_->info().label_kind != LabelKind::kClass) return absl::OkStatus();
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int64_t label = batch.classes[i];
    if (label >= 0 && label < options_.num_classes) continue;
    return absl::InvalidArgumentError(absl::StrCat("label ", label, " outside [0, ", options_.num_classes,
                                                   "), ", dataset_->Locate(batch.row_numbers[i])));
  }
  return absl::OkStatus();
}

}  // namespace lockstep

#include "data/batch_loader.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "data/array_dataset.h"
#include "data/synthetic_dataset.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Row i has features i, 10 i and class i.
std::shared_ptr<const Dataset> NumberedRows(int rows) {
  std::vector<float> features;
  std::vector<int32_t> classes;
  for (int i = 0; i < rows; ++i) {
    features.push_back(static_cast<float>(i));
    features.push_back(static_cast<float>(10 * i));
    classes.push_back(i);
  }
  return ArrayDataset::Create(std::move(features), {2}, std::move(classes)).value();
}

SamplerOptions Shuffled(int64_t rows, int64_t global_batch) {
  SamplerOptions options;
  options.rows = rows;
  options.global_batch = global_batch;
  options.shuffle = true;
  options.seed = 5;
  return options;
}

Sampler Make(const SamplerOptions& options) { return Sampler::Create(options).value(); }

std::unique_ptr<BatchLoader> Load(std::shared_ptr<const Dataset> dataset, const SamplerOptions& sampler,
                                  const BatchLoaderOptions& options = {}) {
  return BatchLoader::Create(std::move(dataset), Make(sampler), options).value();
}

// The batch is the one of its step, and its content that of NumberedRows.
void ExpectBatch(const absl::StatusOr<const Batch*>& next, const Sampler& sampler, int64_t epoch,
                 int64_t step) {
  ASSERT_OK(next);
  const Batch& batch = **next;
  EXPECT_EQ(batch.epoch, epoch);
  EXPECT_EQ(batch.step_in_epoch, step);
  const Sampler::StepShare share = sampler.Share(epoch, step);
  EXPECT_EQ(batch.global_rows, share.global_rows);
  EXPECT_EQ(batch.first_row_in_batch, share.first_row_in_batch);
  EXPECT_EQ(batch.rows, share.rows);
  std::vector<int64_t> rows;
  sampler.RowNumbers(epoch, step, &rows);
  ASSERT_EQ(batch.row_numbers, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(batch.features[2 * i], static_cast<float>(rows[i]));
    EXPECT_EQ(batch.features[2 * i + 1], static_cast<float>(10 * rows[i]));
    EXPECT_EQ(batch.classes[i], rows[i]);
  }
}

TEST(BatchLoaderTest, BatchesComeInOrderWhateverTheNumberOfThreads) {
  const SamplerOptions options = Shuffled(50, 8);
  const Sampler sampler = Make(options);
  for (const int threads : {1, 2, 4}) {
    for (const int prefetch : {1, 3}) {
      const auto loader = Load(NumberedRows(50), options, {prefetch, threads});
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        for (int64_t step = 0; step < 7; ++step) ExpectBatch(loader->Next(), sampler, epoch, step);
      }
    }
  }
}

TEST(BatchLoaderTest, BeginsWhereItIsTold) {
  const SamplerOptions options = Shuffled(50, 8);
  BatchLoaderOptions loader_options;
  loader_options.first_epoch = 4;
  loader_options.first_step = 6;
  const auto loader = Load(NumberedRows(50), options, loader_options);
  ExpectBatch(loader->Next(), Make(options), 4, 6);
  ExpectBatch(loader->Next(), Make(options), 5, 0);
}

TEST(BatchLoaderTest, SeekGoesOnAtAnyStep) {
  const SamplerOptions options = Shuffled(50, 8);
  const Sampler sampler = Make(options);
  const auto loader = Load(NumberedRows(50), options, {2, 2});
  loader->Seek(4, 6);
  ExpectBatch(loader->Next(), sampler, 4, 6);
  ExpectBatch(loader->Next(), sampler, 5, 0);
  loader->Seek(0, 2);
  ExpectBatch(loader->Next(), sampler, 0, 2);
  loader->Seek(0, 7);
  ExpectBatch(loader->Next(), sampler, 1, 0);
  for (int64_t step = 0; step < 7; ++step) {
    loader->Seek(2, step);
    ExpectBatch(loader->Next(), sampler, 2, step);
  }
}

TEST(BatchLoaderTest, BuffersAreAFixedSet) {
  const auto loader = Load(NumberedRows(50), Shuffled(50, 8), {3, 2});
  std::set<const float*> buffers;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(const Batch* batch, loader->Next());
    buffers.insert(batch->features.data());
    EXPECT_EQ(batch->features.size(), 16);
  }
  EXPECT_EQ(buffers.size(), 4);
}

TEST(BatchLoaderTest, ARankMayHaveNoRows) {
  SamplerOptions options = Shuffled(3, 3);
  options.rank = 3;
  options.world_size = 4;
  const auto loader = Load(NumberedRows(3), options);
  ExpectBatch(loader->Next(), Make(options), 0, 0);
  ExpectBatch(loader->Next(), Make(options), 1, 0);
}

TEST(BatchLoaderTest, FloatLabelsAreLoadedWithTheirShape) {
  const auto dataset = ArrayDataset::CreateWithValues({0, 1}, {1}, {10, 11, 12, 13}, {2}).value();
  SamplerOptions options = Shuffled(2, 2);
  options.shuffle = false;
  const auto loader = Load(dataset, options);
  ASSERT_OK_AND_ASSIGN(const Batch* batch, loader->Next());
  EXPECT_THAT(batch->values.span(), ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(batch->classes.size(), 0);
}

TEST(BatchLoaderTest, AnErrorBelongsToItsBatchAndStays) {
  SamplerOptions options = Shuffled(6, 2);
  options.shuffle = false;
  const Sampler sampler = Make(options);
  const auto loader = Load(NumberedRows(6), options, {2, 1, 3});
  const auto bad_label = StatusIs(kInvalid, AllOf(HasSubstr("label 3 outside [0, 3), "), HasSubstr("row 3")));
  ExpectBatch(loader->Next(), sampler, 0, 0);
  EXPECT_THAT(loader->Next(), bad_label);
  EXPECT_THAT(loader->Next(), bad_label);
  loader->Seek(1, 0);
  ExpectBatch(loader->Next(), sampler, 1, 0);
  EXPECT_THAT(loader->Next(), bad_label);
}

TEST(BatchLoaderTest, NegativeLabelsAreOutsideTheClasses) {
  const auto dataset = ArrayDataset::Create({0}, {1}, {-1}).value();
  const auto checked = Load(dataset, Shuffled(1, 1), {2, 1, 3});
  EXPECT_THAT(checked->Next(), StatusIs(kInvalid, HasSubstr("label -1 outside [0, 3)")));
  const auto unchecked = Load(dataset, Shuffled(1, 1));
  EXPECT_OK(unchecked->Next());
}

TEST(BatchLoaderTest, EndsWhileReadersWaitForRoom) {
  for (int batches = 0; batches < 50; ++batches) {
    const auto loader = Load(NumberedRows(50), Shuffled(50, 8), {1, 3});
    for (int i = 0; i < batches % 5; ++i) ASSERT_OK(loader->Next());
  }
}

TEST(BatchLoaderTest, TimesAreCounted) {
  const auto loader = Load(NumberedRows(50), Shuffled(50, 8));
  ASSERT_OK(loader->Next());
  EXPECT_GT(loader->stats().reading, absl::ZeroDuration());
  EXPECT_GT(loader->stats().waited, absl::ZeroDuration());
}

TEST(BatchLoaderTest, OptionsThatMakeNoSenseAreRefused) {
  const Sampler sampler = Make(Shuffled(50, 8));
  EXPECT_THAT(BatchLoader::Create(NumberedRows(50), sampler, {0, 1}),
              StatusIs(kInvalid, HasSubstr("prefetch 0")));
  EXPECT_THAT(BatchLoader::Create(NumberedRows(50), sampler, {1, 0}),
              StatusIs(kInvalid, HasSubstr("threads 0")));
}

TEST(BatchLoaderTest, BuffersThatDoNotFitMemoryAreRefused) {
  SyntheticDataset::Options huge;
  huge.rows = int64_t{1} << 40;
  huge.feature_shape = {1'000'000};
  huge.classes = 2;
  EXPECT_THAT(
      BatchLoader::Create(SyntheticDataset::Create(huge).value(), Make(Shuffled(huge.rows, huge.rows)), {}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("smaller batch")));
}

}  // namespace
}  // namespace lockstep

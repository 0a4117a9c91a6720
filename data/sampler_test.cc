#include "data/sampler.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

SamplerOptions Options(int64_t rows, int64_t global_batch, int rank, int world_size) {
  SamplerOptions options;
  options.rows = rows;
  options.global_batch = global_batch;
  options.rank = rank;
  options.world_size = world_size;
  return options;
}

Sampler Make(const SamplerOptions& options) { return Sampler::Create(options).value(); }

std::vector<int64_t> Rows(const Sampler& sampler, int64_t epoch, int64_t step) {
  std::vector<int64_t> rows;
  sampler.RowNumbers(epoch, step, &rows);
  return rows;
}

// The global batch of a step: the slices of all ranks one after the other, with the promises of StepShare
// checked on the way.
std::vector<int64_t> GlobalBatch(SamplerOptions options, int64_t epoch, int64_t step) {
  std::vector<int64_t> batch;
  int64_t global_rows = 0;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    const Sampler sampler = Make(options);
    const Sampler::StepShare share = sampler.Share(epoch, step);
    const std::vector<int64_t> rows = Rows(sampler, epoch, step);
    EXPECT_EQ(share.rows, static_cast<int64_t>(rows.size()));
    EXPECT_EQ(share.first_row_in_batch, static_cast<int64_t>(batch.size()));
    EXPECT_LE(share.rows, sampler.largest_share());
    batch.insert(batch.end(), rows.begin(), rows.end());
    global_rows = share.global_rows;
  }
  EXPECT_EQ(static_cast<int64_t>(batch.size()), global_rows);
  return batch;
}

std::vector<int64_t> ZeroTo(int64_t n) {
  std::vector<int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(SamplerTest, A15BothRanksTakeElevenStepsAndUseEveryRowOnce) {
  std::vector<int64_t> epoch_rows;
  for (int64_t step = 0; step < 11; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      const Sampler sampler = Make(Options(210, 20, rank, 2));
      ASSERT_EQ(sampler.steps_per_epoch(), 11);
      EXPECT_EQ(sampler.Share(0, step).rows, step < 10 ? 10 : 5);
      for (const int64_t row : Rows(sampler, 1, step)) epoch_rows.push_back(row);
    }
  }
  std::sort(epoch_rows.begin(), epoch_rows.end());
  EXPECT_EQ(epoch_rows, ZeroTo(210));
}

TEST(SamplerTest, A16RanksShareTheRowsOfEachStep) {
  const Sampler rank0 = Make(Options(10, 4, 0, 2));
  const Sampler rank1 = Make(Options(10, 4, 1, 2));
  EXPECT_EQ(rank0.steps_per_epoch(), 3);
  EXPECT_THAT(Rows(rank0, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(Rows(rank1, 0, 0), ElementsAre(2, 3));
  EXPECT_THAT(Rows(rank0, 0, 1), ElementsAre(4, 5));
  EXPECT_THAT(Rows(rank1, 0, 1), ElementsAre(6, 7));
  EXPECT_THAT(Rows(rank0, 0, 2), ElementsAre(8));
  EXPECT_THAT(Rows(rank1, 0, 2), ElementsAre(9));
  EXPECT_EQ(rank0.Share(0, 2).global_rows, 2);
}

TEST(SamplerTest, A17MoreRanksThanRowsLeaveARankWithoutRows) {
  const auto shares = [](int world_size) {
    std::vector<int64_t> rows;
    for (int rank = 0; rank < world_size; ++rank) {
      rows.push_back(Make(Options(3, 3, rank, world_size)).Share(0, 0).rows);
    }
    return rows;
  };
  EXPECT_THAT(shares(2), ElementsAre(2, 1));
  EXPECT_THAT(shares(4), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(Rows(Make(Options(3, 3, 3, 4)), 0, 0), IsEmpty());
  EXPECT_EQ(Make(Options(3, 3, 3, 4)).Share(0, 0).global_rows, 3);
}

TEST(SamplerTest, A18AGlobalBatchThatDoesNotDivideIsShared) {
  std::vector<int64_t> shares;
  for (int rank = 0; rank < 3; ++rank) {
    const Sampler sampler = Make(Options(96, 32, rank, 3));
    EXPECT_EQ(sampler.steps_per_epoch(), 3);
    shares.push_back(sampler.Share(0, 0).rows);
  }
  EXPECT_THAT(shares, ElementsAre(11, 11, 10));
}

TEST(SamplerTest, TheGlobalBatchDoesNotDependOnTheWorldSize) {
  for (const int64_t rows : {1, 2, 7, 23, 64}) {
    for (const int64_t global_batch : {1, 3, 4, 8, 100}) {
      SamplerOptions alone = Options(rows, global_batch, 0, 1);
      alone.shuffle = true;
      alone.seed = 11;
      const int64_t steps = Make(alone).steps_per_epoch();
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        std::vector<int64_t> used;
        for (int64_t step = 0; step < steps; ++step) {
          const std::vector<int64_t> expected = Rows(Make(alone), epoch, step);
          used.insert(used.end(), expected.begin(), expected.end());
          for (int world_size = 2; world_size <= 5; ++world_size) {
            SamplerOptions together = alone;
            together.world_size = world_size;
            ASSERT_EQ(GlobalBatch(together, epoch, step), expected)
                << "rows=" << rows << " batch=" << global_batch << " step=" << step << " N=" << world_size;
          }
        }
        std::sort(used.begin(), used.end());
        ASSERT_EQ(used, ZeroTo(rows));
      }
    }
  }
}

TEST(SamplerTest, EpochsAndSeedsAreShuffledDifferently) {
  SamplerOptions options = Options(50, 50, 0, 1);
  options.shuffle = true;
  const std::vector<int64_t> first = Rows(Make(options), 0, 0);
  EXPECT_NE(first, Rows(Make(options), 1, 0));
  EXPECT_NE(first, ZeroTo(50));
  options.seed = 1;
  EXPECT_NE(first, Rows(Make(options), 0, 0));
}

TEST(SamplerTest, FewerStepsPerEpochEndItEarly) {
  SamplerOptions options = Options(10, 2, 0, 1);
  options.steps_per_epoch = 3;
  const Sampler sampler = Make(options);
  EXPECT_EQ(sampler.steps_per_epoch(), 3);
  EXPECT_THAT(Rows(sampler, 1, 0), ElementsAre(0, 1));
}

TEST(SamplerTest, MoreStepsPerEpochThanThereAreIsAnError) {
  SamplerOptions options = Options(10, 4, 0, 1);
  options.steps_per_epoch = 4;
  EXPECT_THAT(Sampler::Create(options),
              StatusIs(kInvalid, AllOf(HasSubstr("steps_per_epoch 4"), HasSubstr("the 3 steps of 4 rows"))));
}

TEST(SamplerTest, FileShardsAreUsedUpTogetherInEveryEpoch) {
  const std::vector<std::vector<int64_t>> cases = {{100, 110},       {1, 1},    {1, 50, 3},
                                                   {90, 1, 1, 1, 1}, {5, 5, 5}, {3, 8, 13, 2}};
  for (const std::vector<int64_t>& rows_per_rank : cases) {
    for (const int64_t global_batch : {1, 2, 7, 20, 1000}) {
      const int world_size = static_cast<int>(rows_per_rank.size());
      const int64_t total = std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), int64_t{0});
      std::vector<std::vector<int64_t>> used(world_size);
      for (int64_t step = 0; step * global_batch < total; ++step) {
        int64_t next_row_in_batch = 0;
        for (int rank = 0; rank < world_size; ++rank) {
          SamplerOptions options = Options(rows_per_rank[rank], global_batch, rank, world_size);
          options.policy = ShardPolicy::kFile;
          options.rows_per_rank = rows_per_rank;
          options.shuffle = true;
          const Sampler sampler = Make(options);
          const Sampler::StepShare share = sampler.Share(0, step);
          ASSERT_EQ(share.global_rows, std::min(global_batch, total - step * global_batch));
          ASSERT_EQ(share.first_row_in_batch, next_row_in_batch);
          ASSERT_GE(share.rows, 0);
          ASSERT_LE(share.rows, sampler.largest_share());
          next_row_in_batch += share.rows;
          for (const int64_t row : Rows(sampler, 0, step)) used[rank].push_back(row);
        }
        ASSERT_EQ(next_row_in_batch, std::min(global_batch, total - step * global_batch));
      }
      for (int rank = 0; rank < world_size; ++rank) {
        std::sort(used[rank].begin(), used[rank].end());
        ASSERT_EQ(used[rank], ZeroTo(rows_per_rank[rank])) << "rank=" << rank << " batch=" << global_batch;
      }
    }
  }
}

TEST(SamplerTest, FileShardsContributeInProportionToTheirRows) {
  SamplerOptions options = Options(300, 8, 0, 2);
  options.policy = ShardPolicy::kFile;
  options.rows_per_rank = {300, 100};
  const Sampler sampler = Make(options);
  for (int64_t step = 0; step < 50; ++step) EXPECT_EQ(sampler.Share(0, step).rows, 6) << "step=" << step;
}

TEST(SamplerTest, FileShardsHaveAnOrderOfTheirOwn) {
  SamplerOptions options = Options(40, 80, 0, 2);
  options.policy = ShardPolicy::kFile;
  options.rows_per_rank = {40, 40};
  options.shuffle = true;
  const std::vector<int64_t> rank0 = Rows(Make(options), 0, 0);
  options.rank = 1;
  EXPECT_NE(rank0, Rows(Make(options), 0, 0));
}

TEST(SamplerTest, WithoutShardingEveryRankReadsTheSameRows) {
  for (int rank = 0; rank < 2; ++rank) {
    SamplerOptions options = Options(5, 4, rank, 2);
    options.policy = ShardPolicy::kOff;
    const Sampler sampler = Make(options);
    EXPECT_EQ(sampler.steps_per_epoch(), 3);
    EXPECT_THAT(Rows(sampler, 0, 0), ElementsAre(0, 1));
    EXPECT_THAT(Rows(sampler, 0, 2), ElementsAre(4));
    EXPECT_EQ(sampler.Share(0, 0).global_rows, 4);
    EXPECT_EQ(sampler.Share(0, 2).global_rows, 2);
    EXPECT_EQ(sampler.Share(0, 0).first_row_in_batch, rank * 2);
  }
}

TEST(SamplerTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(Sampler::Create(Options(0, 4, 0, 1)), StatusIs(kInvalid, HasSubstr("rows 0")));
  EXPECT_THAT(Sampler::Create(Options(4, 0, 0, 1)), StatusIs(kInvalid, HasSubstr("global batch 0")));
  EXPECT_THAT(Sampler::Create(Options(4, INT64_MAX, 0, 1)), StatusIs(kInvalid, HasSubstr("global batch")));
  EXPECT_THAT(Sampler::Create(Options(4, 4, 2, 2)), StatusIs(kInvalid, HasSubstr("rank 2 outside [0, 2)")));
  EXPECT_THAT(Sampler::Create(Options(4, 4, 0, 0)), StatusIs(kInvalid, HasSubstr("world size 0")));

  SamplerOptions off = Options(4, 5, 0, 2);
  off.policy = ShardPolicy::kOff;
  EXPECT_THAT(Sampler::Create(off), StatusIs(kInvalid, AllOf(HasSubstr("batch of 5"), HasSubstr("2 ranks"))));

  SamplerOptions file = Options(4, 5, 1, 2);
  file.policy = ShardPolicy::kFile;
  EXPECT_THAT(Sampler::Create(file), StatusIs(kInvalid, HasSubstr("rows of 0 ranks")));
  file.rows_per_rank = {4, 3};
  EXPECT_THAT(Sampler::Create(file), StatusIs(kInvalid, HasSubstr("rank 1 announced 3 rows")));
}

}  // namespace
}  // namespace lockstep

#include "collective/buckets.h"

#include <vector>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kFloatsPerMiB = kMiB / 4;

TEST(BucketPlanTest, FirstBucketIsSmallTheOthersHoldBytesPerPack) {
  ASSERT_OK_AND_ASSIGN(const BucketPlan plan, BucketPlan::Create(10 * kFloatsPerMiB, 4 * kMiB));
  ASSERT_EQ(plan.buckets().size(), 4u);
  EXPECT_EQ(plan.buckets()[0].end, kFloatsPerMiB);
  EXPECT_EQ(plan.buckets()[1].end, 5 * kFloatsPerMiB);
  EXPECT_EQ(plan.buckets()[2].end, 9 * kFloatsPerMiB);
  EXPECT_EQ(plan.buckets()[3].end, 10 * kFloatsPerMiB);
}

TEST(BucketPlanTest, BucketsCoverTheBufferWithoutGaps) {
  for (int64_t size :
       {int64_t{1}, int64_t{2}, int64_t{7}, kFloatsPerMiB - 1, kFloatsPerMiB, kFloatsPerMiB + 1}) {
    for (int64_t bytes : {int64_t{4}, int64_t{7}, int64_t{8}, kMiB, 25 * kMiB}) {
      if (size / (bytes / 4) > 100000) continue;
      ASSERT_OK_AND_ASSIGN(const BucketPlan plan, BucketPlan::Create(size, bytes));
      int64_t position = 0;
      for (const Bucket& bucket : plan.buckets()) {
        EXPECT_EQ(bucket.begin, position);
        EXPECT_LT(bucket.begin, bucket.end);
        EXPECT_LE(4 * (bucket.end - bucket.begin), bytes);
        position = bucket.end;
      }
      EXPECT_EQ(position, size);
    }
  }
}

TEST(BucketPlanTest, EmptyBufferHasNoBuckets) {
  ASSERT_OK_AND_ASSIGN(const BucketPlan plan, BucketPlan::Create(0, kMiB));
  EXPECT_THAT(plan.buckets(), IsEmpty());
  EXPECT_TRUE(BucketTracker(&plan).AllComplete());
}

TEST(BucketPlanTest, RefusesSizesThatMakeNoSense) {
  EXPECT_THAT(BucketPlan::Create(-1, kMiB), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
  EXPECT_THAT(BucketPlan::Create(8, 3),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes_per_pack is 3")));
}

class BucketTrackerTest : public ::testing::Test {
 protected:
  // Buckets of two elements: [0,2) [2,4) [4,5).
  const BucketPlan plan_ = BucketPlan::Create(5, 8).value();
  BucketTracker tracker_{&plan_};
  std::vector<int> completed_;
};

TEST_F(BucketTrackerTest, ABucketCompletesWithItsLastElement) {
  EXPECT_OK(tracker_.OnFinal(0, 1, &completed_));
  EXPECT_THAT(completed_, IsEmpty());
  EXPECT_OK(tracker_.OnFinal(1, 3, &completed_));
  EXPECT_THAT(completed_, ElementsAre(0));
  EXPECT_FALSE(tracker_.AllComplete());
  EXPECT_OK(tracker_.OnFinal(3, 5, &completed_));
  EXPECT_THAT(completed_, ElementsAre(0, 1, 2));
  EXPECT_TRUE(tracker_.AllComplete());
}

TEST_F(BucketTrackerTest, RangesMayComeInAnyOrder) {
  EXPECT_OK(tracker_.OnFinal(3, 5, &completed_));
  EXPECT_OK(tracker_.OnFinal(0, 3, &completed_));
  EXPECT_THAT(completed_, ElementsAre(2, 0, 1));
}

TEST_F(BucketTrackerTest, ResetStartsOver) {
  EXPECT_OK(tracker_.OnFinal(0, 5, &completed_));
  tracker_.Reset();
  completed_.clear();
  EXPECT_OK(tracker_.OnFinal(0, 5, &completed_));
  EXPECT_THAT(completed_, ElementsAre(0, 1, 2));
}

TEST_F(BucketTrackerTest, EmptyRangeCompletesNothing) {
  EXPECT_OK(tracker_.OnFinal(0, 2, &completed_));
  EXPECT_OK(tracker_.OnFinal(1, 1, &completed_));
  EXPECT_THAT(completed_, ElementsAre(0));
}

TEST_F(BucketTrackerTest, RefusesRangesOutsideAndRangesReportedTwice) {
  EXPECT_THAT(tracker_.OnFinal(4, 6, &completed_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[4, 6)")));
  EXPECT_OK(tracker_.OnFinal(0, 2, &completed_));
  EXPECT_THAT(tracker_.OnFinal(0, 1, &completed_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("final before")));
}

}  // namespace
}  // namespace lockstep

#include "collective/transport/generation_registry.h"

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(GenerationRegistryTest, UnknownJobsAndNewerGenerationsMayCall) {
  GenerationRegistry registry;
  EXPECT_OK(registry.CheckCaller({1, 5}));
  ASSERT_OK(registry.Begin({1, 5}));
  EXPECT_OK(registry.CheckCaller({1, 5}));
  EXPECT_OK(registry.CheckCaller({1, 6}));
  EXPECT_OK(registry.CheckCaller({2, 0}));
}

TEST(GenerationRegistryTest, OlderAndEndedGenerationsMayNot) {
  GenerationRegistry registry;
  ASSERT_OK(registry.Begin({1, 5}));
  EXPECT_THAT(registry.CheckCaller({1, 4}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("generation 4 of job 1 is over")));
  registry.End({1, 5});
  EXPECT_THAT(registry.CheckCaller({1, 5}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is over")));
  EXPECT_OK(registry.CheckCaller({1, 6}));
}

TEST(GenerationRegistryTest, TheEndOfAnOldGenerationDoesNotEndTheNewOne) {
  GenerationRegistry registry;
  ASSERT_OK(registry.Begin({1, 5}));
  ASSERT_OK(registry.Begin({1, 6}));
  registry.End({1, 5});
  EXPECT_OK(registry.CheckCaller({1, 6}));
}

TEST(GenerationRegistryTest, GenerationsOnlyGrow) {
  GenerationRegistry registry;
  ASSERT_OK(registry.Begin({1, 5}));
  EXPECT_THAT(registry.Begin({1, 5}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not newer")));
  EXPECT_OK(registry.Begin({1, 7}));
}

TEST(GenerationRegistryTest, RemembersABoundedNumberOfJobs) {
  GenerationRegistry registry;
  for (uint64_t job = 0; job <= GenerationRegistry::kMaxJobs; ++job) ASSERT_OK(registry.Begin({job, 1}));
  EXPECT_OK(registry.CheckCaller({0, 0}));  // forgotten
  EXPECT_FALSE(registry.CheckCaller({1, 0}).ok());
}

}  // namespace
}  // namespace lockstep

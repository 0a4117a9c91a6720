#include "tools/child_process.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

// Longer than a loaded machine needs for a shell to do something.
constexpr absl::Duration kPatience = absl::Seconds(60);

std::string OutputPath() { return ::testing::TempDir() + "/output"; }

absl::StatusOr<std::unique_ptr<ChildProcess>> StartShell(const std::string& script,
                                                         std::vector<std::string> environment = {}) {
  return ChildProcess::Start({"/bin/sh", {"-c", script}, std::move(environment), OutputPath()});
}

std::string Output() { return ReadWholeFile(FileSystem::Posix(), OutputPath(), 1 << 20).value(); }

TEST(ChildProcessTest, TellsItsExitCodeAndKeepsItsOutput) {
  ASSERT_OK_AND_ASSIGN(const auto child, StartShell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(child->WaitUntil(absl::Now() + kPatience));
  EXPECT_THAT(child->Ended(), Optional(std::string("exit code 7")));
  EXPECT_EQ(Output(), "out\nerr\n");
}

TEST(ChildProcessTest, TellsTheSignalThatEndedIt) {
  ASSERT_OK_AND_ASSIGN(const auto child, StartShell("sleep 1000"));
  EXPECT_FALSE(child->WaitUntil(absl::Now()));
  child->Signal(SIGKILL);
  ASSERT_TRUE(child->WaitUntil(absl::Now() + kPatience));
  EXPECT_THAT(child->Ended(), Optional(StartsWith("signal 9")));
}

TEST(ChildProcessTest, EnvironmentIsInheritedAndReplaced) {
  ASSERT_EQ(setenv("LOCKSTEP_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("LOCKSTEP_CHANGED", "old", 1), 0);
  ASSERT_OK_AND_ASSIGN(const auto child, StartShell("echo $LOCKSTEP_KEPT $LOCKSTEP_CHANGED $LOCKSTEP_NEW",
                                                    {"LOCKSTEP_CHANGED=changed", "LOCKSTEP_NEW=new"}));
  ASSERT_TRUE(child->WaitUntil(absl::Now() + kPatience));
  EXPECT_EQ(Output(), "kept changed new\n");
}

TEST(ChildProcessTest, DiesWithItsOwner) {
  pid_t pid = 0;
  {
    ASSERT_OK_AND_ASSIGN(const auto child, StartShell("exec sleep 1000"));
    pid = child->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ChildProcessTest, SaysWhyAProgramCannotRun) {
  EXPECT_THAT(ChildProcess::Start({"/no/such/program", {}, {}, OutputPath()}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot run /no/such/program")));
  EXPECT_THAT(ChildProcess::Start({"/bin/true", {}, {}, "/no/such/directory/log"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/directory/log")));
}

}  // namespace
}  // namespace lockstep

#include "collective/transport/unix_address.h"

#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/abstract_address.h"
#include "base/file_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

FileDescriptor Listen(const std::string& target) {
  const AbstractAddress address(absl::StripPrefix(target, "unix-abstract:"));
  FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(bind(listener.get(), address.get(), address.size()), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  return listener;
}

TEST(UnixAddressTest, FollowsFromTheAddress) {
  EXPECT_EQ(UnixTargetOf("127.0.0.1:5301"), UnixTargetOf("127.0.0.1:5301"));
  EXPECT_NE(UnixTargetOf("127.0.0.1:5301"), UnixTargetOf("127.0.0.1:5302"));
  EXPECT_THAT(UnixTargetOf(absl::StrCat(std::string(300, 'h'), ":1")),
              ::testing::MatchesRegex("unix-abstract:lockstep-[0-9a-f]{16}"));
}

TEST(UnixAddressTest, IsServedWhileSomebodyListens) {
  const std::string target = UnixTargetOf(absl::StrCat("served.test:", std::random_device()()));
  EXPECT_FALSE(IsServed(target));
  FileDescriptor listener = Listen(target);
  EXPECT_TRUE(IsServed(target));
  listener.Reset();
  EXPECT_FALSE(IsServed(target));
}

TEST(UnixAddressTest, IsClaimedOnce) {
  const std::string target = UnixTargetOf(absl::StrCat("claimed.test:", std::random_device()()));
  FileDescriptor claim = Claim(target);
  EXPECT_TRUE(claim.valid());
  EXPECT_FALSE(Claim(target).valid());
  // The claim does not stand in the way of listening.
  EXPECT_FALSE(IsServed(target));
  FileDescriptor listener = Listen(target);
  claim.Reset();
  EXPECT_FALSE(Claim(target).valid()) << "somebody listens";
  listener.Reset();
  EXPECT_TRUE(Claim(target).valid());
}

TEST(UnixAddressTest, IsNotServedByAnotherUser) {
  const std::string target = UnixTargetOf(absl::StrCat("stranger.test:", std::random_device()()));
  const FileDescriptor listener = Listen(target);
  EXPECT_TRUE(IsServed(target, geteuid()));
  EXPECT_FALSE(IsServed(target, geteuid() + 1));
}

}  // namespace
}  // namespace lockstep

#include "worker/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<std::string> Resolve(const HostPort& target,
                                    NetworkTrust trust = NetworkTrust::kLoopbackOnly) {
  return ResolveListenAddress(target, trust, absl::InfinitePast());
}

TEST(ListenAddressTest, LoopbackAddressesAreAllowed) {
  ASSERT_OK_AND_ASSIGN(const std::string v4, Resolve({"127.0.0.1", 0}));
  EXPECT_THAT(v4, AllOf(StartsWith("127.0.0.1:"), Not(EndsWith(":0"))));
  ASSERT_OK(Resolve({"127.0.0.2", 0}));
  ASSERT_OK(Resolve({"localhost", 0}));
}

TEST(ListenAddressTest, OtherAddressesNeedTrust) {
  EXPECT_THAT(Resolve({"0.0.0.0", 0}),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("not a loopback address"), HasSubstr("--insecure_network"))));
  EXPECT_OK(Resolve({"0.0.0.0", 0}, NetworkTrust::kInsecure));
}

TEST(ListenAddressTest, ANameThatDoesNotResolveIsNamed) {
  EXPECT_THAT(Resolve({"no-such-host.invalid", 1}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("no-such-host.invalid"), HasSubstr("does not resolve"))));
}

TEST(ListenAddressTest, AnAddressOfAnotherMachineIsRefused) {
  // 192.0.2.0/24 is for documentation (RFC 5737): no machine has it.
  EXPECT_THAT(Resolve({"192.0.2.1", 0}, NetworkTrust::kInsecure),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("192.0.2.1")));
}

TEST(ListenAddressTest, A07ATakenPortIsRefused) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_THAT(Resolve({"127.0.0.1", ntohs(address.sin_port)}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("address already in use")));
  close(fd);
}

}  // namespace
}  // namespace lockstep

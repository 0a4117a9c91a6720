#include "collective/transport/loopback_congestion.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

// A connection over loopback with both ends in this process.
class LoopbackCongestionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener_, 1), 0);
    ASSERT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    caller_ = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(caller_, reinterpret_cast<sockaddr*>(&address), size), 0);
    callee_ = accept(listener_, nullptr, nullptr);
    ASSERT_GE(callee_, 0);
  }
  void TearDown() override {
    for (int descriptor : {listener_, caller_, callee_}) close(descriptor);
  }
  static std::string AlgorithmOf(int descriptor) {
    char name[16] = {};
    socklen_t size = sizeof(name);
    EXPECT_EQ(getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
    return name;
  }

  int listener_ = -1;
  int caller_ = -1;
  int callee_ = -1;
};

TEST_F(LoopbackCongestionTest, SetsBothEndsOfAConnectionAndNoListener) {
  const std::string before = AlgorithmOf(listener_);
  EXPECT_THAT(SetLoopbackCongestionControl("reno"), IsOk());
  EXPECT_EQ(SetLoopbackCongestionControl("reno").value(), 2);
  EXPECT_EQ(AlgorithmOf(caller_), "reno");
  EXPECT_EQ(AlgorithmOf(callee_), "reno");
  EXPECT_EQ(AlgorithmOf(listener_), before);
}

TEST_F(LoopbackCongestionTest, RefusesAnAlgorithmThatDoesNotExist) {
  EXPECT_THAT(SetLoopbackCongestionControl("no_such"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("\"no_such\"")));
}

}  // namespace
}  // namespace lockstep

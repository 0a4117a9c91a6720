#include "worker/host_port.h"

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, NamesAndAddressesAreTaken) {
  for (const char* address : {"localhost:1", "w0.test:5302", "10.0.0.7:65535", "[::1]:5301", "a_b:80",
                              "[2001:db8::7]:5301", "job-worker-0.ns.svc.cluster.local:2222"}) {
    EXPECT_OK(ParseHostPort(address)) << address;
  }
}

TEST(HostPortTest, EqualHostsAreWrittenAlike) {
  ASSERT_OK_AND_ASSIGN(const HostPort name, ParseHostPort("W0.Test.:5301"));
  EXPECT_EQ(name.ToString(), "w0.test:5301");
  ASSERT_OK_AND_ASSIGN(const HostPort ipv6, ParseHostPort("[0:0:0:0:0:0:0:1]:5301"));
  EXPECT_EQ(ipv6.ToString(), "[::1]:5301");
  EXPECT_EQ(ipv6.host, "::1");
  EXPECT_EQ(ipv6.port, 5301);
}

struct Malformed {
  const char* address;
  const char* what;
};

TEST(HostPortTest, EveryMistakeHasAWordOfItsOwn) {
  for (const Malformed& c : {
           Malformed{"", "is empty"},
           {"127.0.0.1", "has no port"},
           {"127.0.0.1:", "has no port"},
           {":5301", "has no host"},
           {"127.0.0.1:0", "not between 1 and 65535"},
           {"127.0.0.1:65536", "not between 1 and 65535"},
           {"127.0.0.1:99999999999999999999", "not between 1 and 65535"},
           {"127.0.0.1:53o1", "a port that is not a number: \"53o1\""},
           {"127.0.0.1:-1", "a port that is not a number"},
           {"127.0.0.1:+1", "a port that is not a number"},
           {"127.0.0.1:05301", "a port that is not a number"},
           {"grpc://127.0.0.1:5301", "has a scheme"},
           {" 127.0.0.1:5301", "blank at its beginning or end"},
           {"127.0.0.1:5301\n", "blank at its beginning or end"},
           {"127.0.0.1 :5301", "blank or control character in it"},
           {"127.0.\x01.1:5301", "blank or control character in it"},
           {"::1:5301", "has several colons"},
           {"a:1,b:2", "has several colons"},
           {"[::1]", "has no ]:port"},
           {"[::1:5301", "has no ]:port"},
           {"[::g]:5301", "has no IPv6 address"},
           {"[]:5301", "has no IPv6 address"},
           {"[::]:5301", "no other host can reach"},
           {"0.0.0.0:5301", "no other host can reach"},
           {"10.0.0.256:5301", "neither a name nor an IPv4 address"},
           {"10.0.0:5301", "neither a name nor an IPv4 address"},
           {"a..b:5301", "not a host name"},
           {"-a:5301", "not a host name"},
           {"a/b:5301", "not a host name"},
           {"w\xc3\xb6rker:5301", "not a host name"},
       }) {
    EXPECT_THAT(ParseHostPort(c.address), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.what)))
        << c.address;
  }
}

TEST(HostPortTest, NamesHaveTheLengthsOfTheDomainNameSystem) {
  const std::string label(63, 'a');
  EXPECT_OK(ParseHostPort(label + ":1"));
  EXPECT_THAT(ParseHostPort("a" + label + ":1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a host name")));
  EXPECT_THAT(ParseHostPort(label + "." + label + "." + label + "." + label + ":1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 253")));
}

}  // namespace
}  // namespace lockstep

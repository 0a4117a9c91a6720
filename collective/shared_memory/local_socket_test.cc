#include "collective/shared_memory/local_socket.h"

#include <fcntl.h>

#include "absl/time/clock.h"
#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::_;

const FileDescriptor kNone;

struct Pair {
  LocalSocket near, far;
};

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

Pair Connected() {
  absl::StatusOr<LocalListener> listener = LocalListener::Open();
  EXPECT_OK(listener.status());
  absl::StatusOr<LocalSocket> near = LocalSocket::Connect(listener->name());
  EXPECT_OK(near.status());
  absl::StatusOr<LocalSocket> far = listener->Accept(Soon());
  EXPECT_OK(far.status());
  return {*std::move(near), *std::move(far)};
}

TEST(LocalSocketTest, PassesMessagesWholeWithTheirDescriptors) {
  Pair pair = Connected();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor out(ends[0]), in(ends[1]);
  ASSERT_OK(pair.near.Send("one", out));
  ASSERT_OK(pair.near.Send("two", kNone));
  ASSERT_OK_AND_ASSIGN(const LocalMessage one, pair.far.Receive(Soon()));
  ASSERT_OK_AND_ASSIGN(const LocalMessage two, pair.far.Receive(Soon()));
  EXPECT_EQ(one.bytes, "one");
  EXPECT_EQ(two.bytes, "two");
  EXPECT_FALSE(two.fd.valid());
  char byte = 'x', read_byte = 0;
  ASSERT_EQ(write(in.get(), &byte, 1), 1);
  ASSERT_EQ(read(one.fd.get(), &read_byte, 1), 1);
  EXPECT_EQ(read_byte, 'x');
}

TEST(LocalSocketTest, NoticesThatTheOtherEndIsGone) {
  Pair pair = Connected();
  pair.near = LocalSocket();
  EXPECT_THAT(pair.far.Receive(Soon()), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_THAT(pair.far.Send("x", kNone), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST(LocalSocketTest, WaitsNoLongerThanItMay) {
  Pair pair = Connected();
  EXPECT_THAT(pair.far.Receive(absl::Now() + absl::Milliseconds(10)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  ASSERT_OK_AND_ASSIGN(LocalListener listener, LocalListener::Open());
  EXPECT_THAT(listener.Accept(absl::InfinitePast()).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST(LocalSocketTest, RefusesAMessageThatIsTooLong) {
  Pair pair = Connected();
  ASSERT_OK(pair.near.Send(std::string(LocalSocket::kMostMessageBytes + 1, 'x'), kNone));
  EXPECT_THAT(pair.far.Receive(Soon()), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST(LocalSocketTest, NobodyListensUnderAnotherName) {
  EXPECT_THAT(LocalSocket::Connect("lockstep-" + RandomToken()).status(),
              StatusIs(absl::StatusCode::kUnavailable, _));
}

}  // namespace
}  // namespace lockstep

#include "collective/shared_memory/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

FileDescriptor Duplicate(const FileDescriptor& fd) { return FileDescriptor(dup(fd.get())); }

TEST(SealedMemoryTest, TwoMappingsShareTheirBytes) {
  ASSERT_OK_AND_ASSIGN(const SealedMemory memory, SealedMemory::Create(10000));
  ASSERT_OK_AND_ASSIGN(const SealedMemory mapped, SealedMemory::Map(Duplicate(memory.fd()), 10000));
  EXPECT_TRUE(std::all_of(mapped.bytes().begin(), mapped.bytes().end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  memory.bytes()[9999] = std::byte{7};
  EXPECT_EQ(mapped.bytes()[9999], std::byte{7});
  EXPECT_NE(mapped.bytes().data(), memory.bytes().data());
}

TEST(SealedMemoryTest, OutlivesItsDescriptorAndMoves) {
  ASSERT_OK_AND_ASSIGN(SealedMemory memory, SealedMemory::Create(100));
  memory.CloseDescriptor();
  memory.bytes()[0] = std::byte{1};
  SealedMemory moved;
  moved = std::move(memory);
  EXPECT_EQ(moved.bytes()[0], std::byte{1});
}

TEST(SealedMemoryTest, CannotBeTakenAwayFromUnderAMapping) {
  ASSERT_OK_AND_ASSIGN(const SealedMemory memory, SealedMemory::Create(8192));
  EXPECT_NE(ftruncate(memory.fd().get(), 0), 0);
}

TEST(SealedMemoryTest, RefusesToMapWhatIsNotAsAgreed) {
  ASSERT_OK_AND_ASSIGN(const SealedMemory memory, SealedMemory::Create(8192));
  EXPECT_THAT(SealedMemory::Map(memory.fd(), 8193),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of 8192 bytes")));
  const FileDescriptor unsealed(memfd_create("test", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
  EXPECT_THAT(SealedMemory::Map(unsealed, 8192),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with seals 0")));
}

TEST(SealedMemoryTest, MoreThanThereIsIsAnErrorAndNoSignal) {
  EXPECT_THAT(SealedMemory::Create(0), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(SealedMemory::Create(size_t{1} << 62), StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(SealedMemoryTest, ALimitOfTheUserIsTold) {
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none = {3, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = SealedMemory::Create(100).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Too many open files")));
}

}  // namespace
}  // namespace lockstep

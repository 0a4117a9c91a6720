#include "base/read_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class ReadStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unlink(pipe_.c_str());
    ASSERT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
  }

  // Opens the pipe as its reader does, so neither goes on alone.
  std::thread Write(const std::string& text) {
    return std::thread([this, text] {
      const int fd = open(pipe_.c_str(), O_WRONLY);
      for (const char c : text)
        if (write(fd, &c, 1) != 1) break;
      close(fd);
    });
  }

  const std::string pipe_ = absl::StrCat(std::getenv("TEST_TMPDIR"), "/pipe");
};

TEST_F(ReadStreamTest, PiecesOfAPipeAreOneText) {
  ASSERT_TRUE(IsStream(pipe_));
  std::thread writer = Write("a job");
  const absl::StatusOr<std::string> text = ReadStreamFile(pipe_, 5);
  writer.join();
  ASSERT_OK(text);
  EXPECT_EQ(*text, "a job");
}

TEST_F(ReadStreamTest, AStreamWithoutEndIsGivenUp) {
  ASSERT_TRUE(IsStream("/dev/zero"));
  EXPECT_THAT(ReadStreamFile("/dev/zero", 1 << 20),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("/dev/zero has more than 1048576 bytes")));
}

TEST_F(ReadStreamTest, ErrorsOfTheSystemAreNamed) {
  EXPECT_THAT(ReadStream(-1, "standard input", 10).status().message(),
              HasSubstr("cannot read standard input: Bad file descriptor"));
  EXPECT_THAT(ReadStreamFile("/nonexistent", 10),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent")));
}

TEST_F(ReadStreamTest, FilesAndDirectoriesAreNoStreams) {
  EXPECT_FALSE(IsStream("/proc/self/exe"));
  EXPECT_FALSE(IsStream("/"));
  EXPECT_FALSE(IsStream("/nonexistent"));
}

}  // namespace
}  // namespace lockstep

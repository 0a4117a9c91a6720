#include "data/gzip.h"

#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

std::string Compress(const std::string& text) {
  z_stream z = {};
  EXPECT_EQ(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string compressed(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(compressed.data());
  z.avail_out = static_cast<uInt>(compressed.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  compressed.resize(z.total_out);
  deflateEnd(&z);
  return compressed;
}

// Everything, read in pieces of `piece` bytes.
absl::StatusOr<std::string> Decompress(const std::string& compressed, size_t piece) {
  const std::shared_ptr<const Bytes> bytes = ToBytes(compressed);
  GzipReader reader(bytes->span(), "file t.gz");
  std::string text;
  std::vector<std::byte> buffer(piece);
  while (true) {
    const absl::StatusOr<int64_t> read = reader.Read(absl::MakeSpan(buffer));
    if (!read.ok()) return read.status();
    text.append(reinterpret_cast<const char*>(buffer.data()), *read);
    if (*read < static_cast<int64_t>(piece)) return text;
  }
}

TEST(GzipTest, PiecesOfAnySizeGiveTheText) {
  const std::string text(10'000, 'a');
  for (const size_t piece : {1, 7, 9'999, 10'000, 20'000}) {
    ASSERT_OK_AND_ASSIGN(const std::string read, Decompress(Compress(text), piece));
    EXPECT_EQ(read, text) << piece;
  }
}

TEST(GzipTest, SeveralMembersAreOneStream) {
  ASSERT_OK_AND_ASSIGN(const std::string read,
                       Decompress(Compress("one ") + Compress("") + Compress("two"), 100));
  EXPECT_EQ(read, "one two");
}

TEST(GzipTest, EveryTruncationIsNoticed) {
  const std::string compressed = Compress("some text");
  for (size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_THAT(Decompress(compressed.substr(0, size), 100), StatusIs(kDataLoss, HasSubstr("cut off")))
        << size;
  }
}

TEST(GzipTest, AWrongChecksumIsNoticed) {
  std::string compressed = Compress("some text");
  compressed[compressed.size() - 8] ^= 1;
  EXPECT_THAT(Decompress(compressed, 100), StatusIs(kDataLoss, HasSubstr("file t.gz: damaged gzip data")));
}

TEST(GzipTest, ZerosBehindTheEndArePadding) {
  const std::string file = Compress("some text") + std::string(512, '\0');
  ASSERT_OK_AND_ASSIGN(const std::string text, Decompress(file, 100));
  EXPECT_EQ(text, "some text");
  EXPECT_THAT(Decompress(file + "abc", 100), StatusIs(kDataLoss, HasSubstr("515 bytes follow the end")));
}

TEST(GzipTest, TextBehindTheEndIsNoticed) {
  EXPECT_THAT(Decompress(Compress("some text") + "abc", 100),
              StatusIs(kDataLoss, HasSubstr("3 bytes follow the end")));
}

}  // namespace
}  // namespace lockstep

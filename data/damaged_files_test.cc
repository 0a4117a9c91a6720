// Every truncation and every flipped bit of small valid files must end in a dataset or in an error: never in
// a crash, a hang or a huge allocation. Meant to be run under the address sanitizer as well.

#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "data/csv_dataset.h"
#include "data/idx_array.h"
#include "data/npy_array.h"
#include "data/npz_archive.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using Reader = absl::Status (*)(const std::string& file);

absl::Status ReadNpy(const std::string& file) { return ParseNpy(ToBytes(file), "t").status(); }

absl::Status ReadNpz(const std::string& file) {
  const absl::StatusOr<NpzArchive> archive = NpzArchive::Open(ToBytes(file), "t");
  return archive.ok() ? archive->Read("x").status() : archive.status();
}

absl::Status ReadImages(const std::string& file) {
  return ParseIdx(ToBytes(file), IdxContent::kImages, "t").status();
}

absl::Status ReadLabels(const std::string& file) {
  return ParseIdx(ToBytes(file), IdxContent::kLabels, "t").status();
}

absl::Status ReadCsv(const std::string& file) {
  CsvOptions options;
  options.label = "label";
  return OpenCsv({{ToBytes(file), "t"}}, options).status();
}

struct Case {
  const char* fixture;
  Reader read;
};

const Case kCases[] = {
    {"x_fortran_f4.npy", ReadNpy},
    {"x_v2_f8.npy", ReadNpy},
    {"y_i8.npy", ReadNpy},
    {"xy_deflate_zip64.npz", ReadNpz},
    {"xy_datadescriptor.npz", ReadNpz},
    {"imgs-idx3-ubyte", ReadImages},
    {"imgs-idx3-ubyte.gz", ReadImages},
    {"labs-idx1-ubyte", ReadLabels},
    {"labs-idx1-ubyte.gz", ReadLabels},
    {"bom.csv", ReadCsv},
    {"crlf_quotes.csv", ReadCsv},
};

// The fixtures that are binary are damaged beyond use by any truncation.
bool IsText(const Case& test) { return test.read == &ReadCsv; }

long PeakMemoryKiB() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(DamagedFilesTest, EveryTruncationIsAnError) {
  for (const Case& test : kCases) {
    const std::string file = FixtureText(test.fixture);
    for (size_t size = 0; size < file.size(); ++size) {
      const absl::Status status = test.read(file.substr(0, size));
      EXPECT_TRUE(IsText(test) || !status.ok()) << test.fixture << " cut to " << size;
    }
  }
}

TEST(DamagedFilesTest, EveryFlippedBitEndsInADatasetOrAnError) {
  constexpr long kMostGrowthKiB = 256 << 10;  // sanitizers keep freed memory; a lying size asks for more
  const long before = PeakMemoryKiB();
  for (const Case& test : kCases) {
    const std::string file = FixtureText(test.fixture);
    int errors = 0;
    for (size_t byte = 0; byte < file.size(); ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = file;
        damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
        errors += !test.read(damaged).ok();
      }
    }
    EXPECT_GT(errors, 0) << test.fixture;
  }
  EXPECT_LT(PeakMemoryKiB() - before, kMostGrowthKiB);
}

TEST(DamagedFilesTest, ExtremeBytesGiveShortMessages) {
  for (const Case& test : kCases) {
    const std::string file = FixtureText(test.fixture);
    for (size_t byte = 0; byte < file.size(); ++byte) {
      for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
        std::string damaged = file;
        damaged[byte] = static_cast<char>(value);
        EXPECT_LT(test.read(damaged).message().size(), 2000u) << test.fixture << " byte " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep

// Replays the fuzzer's corpus, so that what it once found stays found.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "test/fuzz/tf_config_property.h"

namespace lockstep {
namespace {

TEST(TfConfigCorpusTest, EveryEntryKeepsTheProperty) {
  int entries = 0;
  const std::string corpus = std::string(std::getenv("TEST_SRCDIR")) + "/lockstep/test/fuzz/corpus/tf_config";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    CheckTfConfigProperty(std::string(std::istreambuf_iterator<char>(file), {}));
    ++entries;
  }
  EXPECT_GE(entries, 10);
}

}  // namespace
}  // namespace lockstep

// Replays a fuzzer's corpus in an ordinary test, so that what it once found stays found.
#ifndef LOCKSTEP_TEST_FUZZ_REPLAY_CORPUS_H_
#define LOCKSTEP_TEST_FUZZ_REPLAY_CORPUS_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace lockstep {

// Calls `check` with the contents of each file of test/fuzz/corpus/NAME.
inline void ReplayCorpus(const std::string& name, const std::function<void(absl::string_view)>& check) {
  const std::string corpus = std::string(std::getenv("TEST_SRCDIR")) + "/lockstep/test/fuzz/corpus/" + name;
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    check(std::string(std::istreambuf_iterator<char>(file), {}));
    ++entries;
  }
  EXPECT_GE(entries, 5) << "the corpus is not there";
}

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_FUZZ_REPLAY_CORPUS_H_

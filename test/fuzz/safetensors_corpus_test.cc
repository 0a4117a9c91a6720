#include "gtest/gtest.h"
#include "test/fuzz/replay_corpus.h"
#include "test/fuzz/safetensors_property.h"

namespace lockstep {
namespace {

TEST(SafetensorsCorpusTest, EveryEntryKeepsTheProperty) {
  ReplayCorpus("safetensors", CheckSafetensorsProperty);
}

}  // namespace
}  // namespace lockstep

#include "gtest/gtest.h"
#include "test/fuzz/replay_corpus.h"
#include "test/fuzz/tf_config_property.h"

namespace lockstep {
namespace {

TEST(TfConfigCorpusTest, EveryEntryKeepsTheProperty) { ReplayCorpus("tf_config", CheckTfConfigProperty); }

}  // namespace
}  // namespace lockstep

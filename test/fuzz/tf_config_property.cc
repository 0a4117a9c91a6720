#include "test/fuzz/tf_config_property.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "worker/tf_config.h"

namespace lockstep {

void CheckTfConfigProperty(absl::string_view text) {
  const absl::StatusOr<ClusterConfig> config = ParseTfConfig(text);
  if (!config.ok()) {
    CHECK(absl::IsInvalidArgument(config.status()));
    CHECK(absl::StartsWith(config.status().message(), "TF_CONFIG"));
    CHECK(!absl::StrContains(config.status().message(), "\n"));
    CHECK_LT(config.status().message().size(), 1000u);
    return;
  }
  CHECK_GE(config->rank, 0);
  CHECK_LT(config->rank, config->world_size());
  CHECK_EQ(config->names.size(), config->addresses.size());
  CHECK_EQ(config->names[config->rank], absl::StrCat(config->task_type, ":", config->task_index));
}

}  // namespace lockstep

#include "test/jobs.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "worker/job_file.h"

namespace lockstep {

v1::JobSpec ParseJobOrDie(absl::string_view text) {
  absl::StatusOr<v1::JobSpec> spec = ParseJob(text, "test");
  CHECK(spec.ok()) << spec.status();
  return *std::move(spec);
}

v1::JobSpec ToyJob() {
  return ParseJobOrDie(R"(
      name: "toy"
      model { input { shape: 20 } layers { dense { units: 32 activation: RELU } } layers { dense { units: 2 } } }
      compile { optimizer { adam {} } loss { sparse_categorical_crossentropy { from_logits: true } }
                metrics: "accuracy" }
      data { train { synthetic { rows: 1000 feature_shape: 20 classes: 2 } shuffle: true } }
      fit { epochs: 3 batch_size: 32 seed: 1 }
      threading { intra_op_threads: 1 }
      checkpoint { directory: "toy" }
      on_failure: FAIL)");
}

v1::JobSpec EndlessJob() {
  v1::JobSpec spec = ToyJob();
  spec.set_name("endless");
  spec.mutable_data()->mutable_train()->mutable_synthetic()->set_rows(100'000);
  spec.mutable_fit()->set_epochs(1'000'000);
  spec.clear_checkpoint();
  return spec;
}

v1::JobSpec LineJob(absl::string_view optimizer, absl::string_view fit) {
  return ParseJobOrDie(absl::StrCat(R"(
      name: "line"
      model { input { shape: 1 } layers { dense { units: 1 use_bias: false kernel_initializer { zeros {} } } } }
      compile { loss { mean_squared_error {} } optimizer { )",
                                    optimizer, R"( } }
      data { train { csv { paths: "line.csv" label: "y" } } }
      checkpoint { directory: "line" }
      on_failure: FAIL
      fit { )",
                                    fit, " }"));
}

double MetricOf(const v1::JobSummary& summary, absl::string_view name) {
  for (const v1::NamedValue& metric : summary.metrics())
    if (metric.name() == name) return metric.value();
  return std::nan("");
}

}  // namespace lockstep

// Jobs, events and clusters as JSON objects for scripts, each on one line.
//
// Names are those of proto/trainer.proto. Metrics are objects of name and value, states are names
// ("SUCCEEDED"). Numbers have all digits that tell a double from its neighbours; NaN and infinities, which
// JSON does not have, are null.
#ifndef LOCKSTEP_TOOLS_JOB_JSON_H_
#define LOCKSTEP_TOOLS_JOB_JSON_H_

#include <string>

namespace lockstep {

namespace v1 {
class Cluster;
class Job;
class JobEvent;
class JobSummary;
class SubmitResponse;
}  // namespace v1

// What --summary writes: state, error, epochs, steps, world_size, rows_per_second, seconds, parameter_hash,
// metrics {name: value}, history [metrics of each epoch; the last one is epoch `epochs`], ranks [...], and
// evaluated_rows if it is not 0.
std::string SummaryJson(const v1::JobSummary& summary);

// {"event": "fit_begin" | "progress" | "epoch_end" | "state" | "message" | "summary", "sequence", "unix_ms",
// ...}
std::string EventJson(const v1::JobEvent& event);

// {"event": "submitted", "job", "warnings"}
std::string SubmittedJson(const v1::SubmitResponse& response);

// {"id", "name", "state", "error", "created_unix_ms", "summary"}
std::string JobJson(const v1::Job& job);

// {"complete", "error", "members": [...]}
std::string ClusterJson(const v1::Cluster& cluster);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_JSON_H_

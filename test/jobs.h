// Job specifications and data files that several tests use.
#ifndef LOCKSTEP_TEST_JOBS_H_
#define LOCKSTEP_TEST_JOBS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"

namespace lockstep {

// Parses a specification in text format; dies on a mistake.
v1::JobSpec ParseJobOrDie(absl::string_view text);

// Dense 32 relu -> Dense 2 on 1000 x 20 random features, 3 epochs, checkpoints in `toy`.
v1::JobSpec ToyJob();

// The same model with an end so far away that a test ends it. Steps take about a millisecond.
v1::JobSpec EndlessJob();

// Dense 1 without bias from zero, mean squared error, on the file line.csv with columns x and y: its
// updates can be computed by hand. Checkpoints in `line`.
v1::JobSpec LineJob(absl::string_view optimizer, absl::string_view fit);

// A metric of the last epoch; NaN if there is none.
double MetricOf(const v1::JobSummary& summary, absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_JOBS_H_

// The outputs of a model for all rows of a dataset, computed by all ranks and written by rank 0 in row order.
#ifndef LOCKSTEP_WORKER_PREDICTOR_H_
#define LOCKSTEP_WORKER_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "collective/communicator.h"
#include "data/batch_loader.h"
#include "worker/replica.h"

namespace lockstep {

// Collective. The loader yields `rows` rows in order, in `steps` steps. `path` is used on rank 0 alone.
absl::Status WritePredictions(Replica* replica, Communicator* communicator, BatchLoader* loader,
                              int64_t steps, int64_t rows, FileSystem* files, const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_PREDICTOR_H_

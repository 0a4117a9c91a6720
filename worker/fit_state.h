// What a rank keeps of a fit that was interrupted, so that the next generation of the job goes on from there:
// a value, handed from one Trainer to the next. Parameters and slots are in the Replica beside it.
#ifndef LOCKSTEP_WORKER_FIT_STATE_H_
#define LOCKSTEP_WORKER_FIT_STATE_H_

#include <string>

#include "base/aligned_buffer.h"
#include "proto/checkpoint.pb.h"

namespace lockstep {

struct FitState {
  // Position and replica belong together: the bits of a step that all ranks have committed. Not before the
  // first generation has started, nor while the state of another rank is being received.
  bool live = false;
  // As a checkpoint would say it.
  v1::CheckpointManifest position;
  AlignedBuffer<float> best_parameters;  // early stopping's, if it restores them
  std::string job_id;                    // empty: of no job, but of a program
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_FIT_STATE_H_

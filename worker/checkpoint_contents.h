// What a checkpoint is made of.
#ifndef LOCKSTEP_WORKER_CHECKPOINT_CONTENTS_H_
#define LOCKSTEP_WORKER_CHECKPOINT_CONTENTS_H_

#include <vector>

#include "proto/checkpoint.pb.h"
#include "worker/named_tensor.h"

namespace lockstep {

struct CheckpointContents {
  v1::CheckpointManifest manifest;  // `format_version` and `files` are filled in by the store
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINT_CONTENTS_H_

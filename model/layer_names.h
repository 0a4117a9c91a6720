// The names of a network's layers. They become part of parameter names and of checkpoints.
#ifndef LOCKSTEP_MODEL_LAYER_NAMES_H_
#define LOCKSTEP_MODEL_LAYER_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {
namespace v1 {
class Model;
}  // namespace v1

// One name per layer. A layer without one is called after its kind as in Keras, "dense", "dense_1", ...,
// leaving out names that are given to other layers.
// Errors: INVALID_ARGUMENT a name is given twice or has characters other than letters, digits and "_.-".
absl::StatusOr<std::vector<std::string>> MakeLayerNames(const v1::Model& spec);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYER_NAMES_H_

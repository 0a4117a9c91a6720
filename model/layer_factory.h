// The layers of a network from its specification.
#ifndef LOCKSTEP_MODEL_LAYER_FACTORY_H_
#define LOCKSTEP_MODEL_LAYER_FACTORY_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "model/layer.h"

namespace lockstep {
namespace v1 {
class Model;
}  // namespace v1

// The layers in order of the forward pass, at least one. Layers without a name are called after their kind as
// in Keras: "dense", "dense_1", ... Errors: INVALID_ARGUMENT the specification has a mistake; the message
// begins with its place, for example "model.layers[2] (dense_1): ".
absl::StatusOr<std::vector<std::unique_ptr<Layer>>> MakeLayers(const v1::Model& spec);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYER_FACTORY_H_

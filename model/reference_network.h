// A network's outputs, naively and in double: an oracle for tests.
#ifndef LOCKSTEP_MODEL_REFERENCE_NETWORK_H_
#define LOCKSTEP_MODEL_REFERENCE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "model/parameter_layout.h"
#include "model/pass_context.h"

namespace lockstep {
namespace v1 {
class Model;
}  // namespace v1

// What Network::Forward computes. `parameters` is a flat buffer of `layout`.
std::vector<double> ReferenceOutputs(const v1::Model& spec, const ParameterLayout& layout,
                                     const std::vector<double>& parameters,
                                     const std::vector<double>& features, const PassContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_REFERENCE_NETWORK_H_

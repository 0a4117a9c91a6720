// Initialisers from their specification.
#ifndef LOCKSTEP_MODEL_INITIALIZER_FACTORY_H_
#define LOCKSTEP_MODEL_INITIALIZER_FACTORY_H_

#include "absl/status/statusor.h"
#include "model/initializer.h"
#include "model/shape.h"

namespace lockstep {
namespace v1 {
class Initializer;
}  // namespace v1

// The initialiser for a parameter of `shape`, with Keras's definitions: glorot (Glorot & Bengio 2010), he (He
// et al. 2015) and lecun (LeCun et al. 1998) scale by the parameter's fans. Absent: glorot_uniform. Errors:
// INVALID_ARGUMENT a value is not finite or out of its range; names the field.
absl::StatusOr<Initializer> MakeInitializer(const v1::Initializer& spec, const Shape& shape);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_INITIALIZER_FACTORY_H_

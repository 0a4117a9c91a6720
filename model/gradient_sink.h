// Hears during the backward pass which ranges of the flat gradient buffer will not change any more, so that
// they can be reduced while backward goes on. Implemented in worker/.
#ifndef LOCKSTEP_MODEL_GRADIENT_SINK_H_
#define LOCKSTEP_MODEL_GRADIENT_SINK_H_

#include <cstdint>

namespace lockstep {

class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Elements [begin, end) are final. Ranges come in ascending order without gaps, since the buffer is laid
  // out in reverse layer order. Must not block for long: backward waits.
  virtual void OnFinal(int64_t begin, int64_t end) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_GRADIENT_SINK_H_

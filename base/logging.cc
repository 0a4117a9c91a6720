#include "base/logging.h"

namespace lockstep {

void InitLogging(const char* program) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(program);
}

}  // namespace lockstep

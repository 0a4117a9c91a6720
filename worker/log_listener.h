// Writes what it hears to the log, a line per event that people want to see.
#ifndef LOCKSTEP_WORKER_LOG_LISTENER_H_
#define LOCKSTEP_WORKER_LOG_LISTENER_H_

#include "worker/fit_listener.h"

namespace lockstep {

class LogListener : public FitListener {
 public:
  void OnFitBegin(const v1::FitBegin& begin) override;
  void OnEpochEnd(const v1::EpochEnd& end) override;
  void OnMessage(absl::string_view message) override;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_LOG_LISTENER_H_

// Hears how a fit, an evaluation or a prediction goes on. Called on the training thread of rank 0; must be
// quick.
#ifndef LOCKSTEP_WORKER_FIT_LISTENER_H_
#define LOCKSTEP_WORKER_FIT_LISTENER_H_

#include "absl/strings/string_view.h"

namespace lockstep {

namespace v1 {
class EpochEnd;
class FitBegin;
class JobSummary;
class Progress;
}  // namespace v1

class FitListener {
 public:
  virtual ~FitListener() = default;

  virtual void OnFitBegin(const v1::FitBegin&) {}
  virtual void OnProgress(const v1::Progress&) {}
  virtual void OnEpochEnd(const v1::EpochEnd&) {}
  // One line for people.
  virtual void OnMessage(absl::string_view) {}
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_FIT_LISTENER_H_

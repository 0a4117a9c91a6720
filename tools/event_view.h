// How the events of a job look: events go in, text comes out. Pure, so that it can be tested.
#ifndef LOCKSTEP_TOOLS_EVENT_VIEW_H_
#define LOCKSTEP_TOOLS_EVENT_VIEW_H_

#include <string>

namespace lockstep {

namespace v1 {
class JobEvent;
}  // namespace v1

class EventView {
 public:
  virtual ~EventView() = default;

  // The text to print now; may be empty.
  virtual std::string Show(const v1::JobEvent& event) = 0;

  // What to print after the last event, also when there was none that ended the job.
  virtual std::string Close() { return ""; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_EVENT_VIEW_H_

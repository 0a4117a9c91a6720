// A job for scripts: one JSON object per event and line (tools/job_json.h).
#ifndef LOCKSTEP_TOOLS_JSON_VIEW_H_
#define LOCKSTEP_TOOLS_JSON_VIEW_H_

#include <string>

#include "tools/event_view.h"
#include "tools/job_json.h"

namespace lockstep {

class JsonView : public EventView {
 public:
  std::string Show(const v1::JobEvent& event) override { return EventJson(event) + "\n"; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JSON_VIEW_H_

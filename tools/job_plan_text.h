// A job's plan as text for people.
#ifndef LOCKSTEP_TOOLS_JOB_PLAN_TEXT_H_
#define LOCKSTEP_TOOLS_JOB_PLAN_TEXT_H_

#include <string>

#include "tools/job_plan.h"

namespace lockstep {

// A table of layers in Keras's manner, then memory, batch, data and steps.
std::string JobPlanText(const JobPlan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_PLAN_TEXT_H_

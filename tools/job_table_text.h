// Jobs as text for people.
#ifndef LOCKSTEP_TOOLS_JOB_TABLE_TEXT_H_
#define LOCKSTEP_TOOLS_JOB_TABLE_TEXT_H_

#include <string>

namespace lockstep {

namespace v1 {
class Job;
class ListJobsResponse;
}  // namespace v1

// One line per job.
std::string JobsTable(const v1::ListJobsResponse& response);

// State, error, last metrics and where the time went.
std::string JobText(const v1::Job& job);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_TABLE_TEXT_H_

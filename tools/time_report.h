// Where the time of a job went, rank by rank, and what to do about it.
#ifndef LOCKSTEP_TOOLS_TIME_REPORT_H_
#define LOCKSTEP_TOOLS_TIME_REPORT_H_

#include <string>

namespace lockstep {

namespace v1 {
class JobSummary;
}  // namespace v1

// A table with one line per rank and the verdict; empty if the summary has no ranks.
std::string TimeReport(const v1::JobSummary& summary);

// One sentence: is it input, communication, an uneven rank, or the computation that limits this job?
std::string Verdict(const v1::JobSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_TIME_REPORT_H_

// Durations on command lines.
#ifndef LOCKSTEP_BASE_SECONDS_FLAG_H_
#define LOCKSTEP_BASE_SECONDS_FLAG_H_

#include <string>

namespace lockstep {

// A check for CLI11: empty if `text` is a finite number of seconds above 0 and not absurdly long, else what
// is wrong.
std::string CheckSeconds(const std::string& text);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_SECONDS_FLAG_H_

#include "collective/transport/generation_registry.h"

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::Status GenerationRegistry::Begin(const GroupId& group) {
  const auto newest = newest_.find(group.job);
  if (newest == newest_.end()) {
    if (jobs_.size() == kMaxJobs) {
      newest_.erase(jobs_.front());
      jobs_.pop_front();
    }
    jobs_.push_back(group.job);
  } else if (group.generation <= newest->second.generation) {
    return absl::FailedPreconditionError(absl::StrCat("generation ", group.generation, " of job ",
                                                      absl::Hex(group.job), " is not newer than generation ",
                                                      newest->second.generation, ", which was here before"));
  }
  newest_[group.job] = {group.generation, false};
  return absl::OkStatus();
}

void GenerationRegistry::End(const GroupId& group) {
  const auto newest = newest_.find(group.job);
  if (newest != newest_.end() && newest->second.generation == group.generation) newest->second.ended = true;
}

absl::Status GenerationRegistry::CheckCaller(const GroupId& group) const {
  const auto newest = newest_.find(group.job);
  if (newest == newest_.end() || group.generation > newest->second.generation) return absl::OkStatus();
  if (group.generation == newest->second.generation && !newest->second.ended) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("generation ", group.generation, " of job ", absl::Hex(group.job),
                   " is over; the newest one known is ", newest->second.generation));
}

}  // namespace lockstep

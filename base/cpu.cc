#include "base/cpu.h"

#include <cpuid.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

int AffinityProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// Processors of a quota of `quota` microseconds in each `period`; a large number without a quota.
int QuotaProcessors(double quota, double period) {
  constexpr int kUnlimited = 1 << 20;
  if (quota <= 0 || period <= 0) return kUnlimited;
  return static_cast<int>((quota + period - 1) / period);
}

int CgroupProcessors() {
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2) {
    std::string quota;
    double period = 0;
    v2 >> quota >> period;
    return QuotaProcessors(quota == "max" ? 0 : std::atof(quota.c_str()), period);
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = 0, period = 0;
  quota_file >> quota;
  period_file >> period;
  return QuotaProcessors(quota, period);
}

// clang 14 does not know the name.
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

absl::Status CheckProcessor() {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this processor has no AVX2, FMA and F16C instructions, which lockstep needs");
}

InstructionSet BestInstructionSet() {
  static const InstructionSet best = [] {
    const char* forced = std::getenv("LOCKSTEP_INSTRUCTION_SET");
    if (forced != nullptr && absl::string_view(forced) == "avx2") return InstructionSet::kAvx2;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    return avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
  }();
  return best;
}

int AllowedProcessors() { return std::max(1, std::min(AffinityProcessors(), CgroupProcessors())); }

}  // namespace lockstep

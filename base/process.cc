#include "base/process.h"

#include <malloc.h>
#include <pmmintrin.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "base/cpu.h"
#include "base/logging.h"

namespace lockstep {
namespace {

// What gRPC receives is freed and taken again in every step. With malloc's defaults each of these blocks goes
// back to the kernel and is faulted in anew: six times the duration of a 256 MB all-reduce over loopback.
void KeepMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
}

// Numbers too small to be normal are zero, as in TensorFlow's kernels: an optimizer's averages of gradients
// that have vanished end there, and arithmetic on them is a hundred times slower. Of this thread and of those
// that it starts.
void FlushSubnormals() {
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
}

}  // namespace

void RestartWithSleepingThreads(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::array<char, 4096> program{};
  // The real path, not /proc/self/exe, so that the process keeps its name.
  if (readlink("/proc/self/exe", program.data(), program.size() - 1) < 0) return;
  // Returns only if it fails; then threads spin, and all else works.
  execv(program.data(), argv);
}

absl::Status InitProcess(const char* program) {
  InitLogging(program);
  KeepMemory();
  FlushSubnormals();
  // On by default in Debian's Abseil; 3 to 10 % of a small all-reduce.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return CheckProcessor();
}

}  // namespace lockstep

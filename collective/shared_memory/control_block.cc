#include "collective/shared_memory/control_block.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace lockstep {
namespace {

uint32_t* Word(std::atomic<uint32_t>* word) { return reinterpret_cast<uint32_t*>(word); }

}  // namespace

// Errors (EAGAIN: the value has changed, EINTR, ETIMEDOUT) all mean: look again.
void FutexWait(std::atomic<uint32_t>* word, uint32_t value, absl::Duration timeout) {
  const timespec relative = absl::ToTimespec(timeout);
  syscall(SYS_futex, Word(word), FUTEX_WAIT, value, &relative, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, Word(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace lockstep

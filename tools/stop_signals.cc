#include "tools/stop_signals.h"

#include <ctime>
#include <utility>

namespace lockstep {
namespace {

// How soon the destructor is noticed.
constexpr long kDoneCheckNs = 20'000'000;

}  // namespace

StopSignals::StopSignals(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  thread_ = std::thread([this] { Wait(); });
}

StopSignals::~StopSignals() {
  done_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopSignals::Wait() {
  const timespec pause = {0, kDoneCheckNs};
  while (!done_) {
    if (sigtimedwait(&signals_, nullptr, &pause) <= 0) continue;
    // From here on a signal finds a thread that does not block it.
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    received_ = true;
    on_signal_();
    break;
  }
  // This thread must stay until then: it is the one that a second signal ends.
  while (!done_) nanosleep(&pause, nullptr);
}

}  // namespace lockstep

// SIGINT, SIGTERM and SIGHUP as a call on a thread of its own, so that a command can end its work in order.
#ifndef LOCKSTEP_TOOLS_STOP_SIGNALS_H_
#define LOCKSTEP_TOOLS_STOP_SIGNALS_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace lockstep {

// One at a time. Blocks the signals in the constructing thread and those that it starts later: make it before
// anything that starts threads.
class StopSignals {
 public:
  // `on_signal` is called once, for the first signal. A second one ends the process at once.
  explicit StopSignals(std::function<void()> on_signal);
  // Afterwards signals do again what they did before.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool received() const { return received_; }

 private:
  void Wait();

  const std::function<void()> on_signal_;
  sigset_t signals_;
  sigset_t mask_before_;
  std::atomic<bool> received_{false};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_STOP_SIGNALS_H_

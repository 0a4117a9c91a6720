// One lockstepd, or another program of the project, as a real process of a test. It is killed with its
// owner, however that ends.
#ifndef LOCKSTEP_TEST_DAEMON_H_
#define LOCKSTEP_TEST_DAEMON_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/child_process.h"

namespace lockstep {

// Ends every wait of these tests. Far above what is waited for even on a busy machine.
constexpr absl::Duration kTestDeadline = absl::Seconds(60);

struct DaemonOptions {
  std::string program = "worker/lockstepd";
  std::string tf_config;  // empty: not set
  std::vector<std::string> flags;
  std::vector<std::string> environment;  // "NAME=value"
  std::string log;                       // file that gets standard output and error
};

// For the test's main thread.
class Daemon {
 public:
  // Dies with a message if the program cannot be started.
  explicit Daemon(const DaemonOptions& options);

  pid_t pid() const { return process_->pid(); }
  bool running() { return !process_->Ended().has_value(); }
  void Signal(int signal) { process_->Signal(signal); }
  // SIGKILL; returns once the process is gone.
  void Kill();

  // Waits for the end: "exit code 2", "signal 9 (Killed)", or "still running" after the timeout.
  std::string AwaitEnd(absl::Duration timeout = kTestDeadline);

  // Waits until something listens on `address`; false if the process ends before or the deadline passes.
  bool AwaitListening(const std::string& address);
  // Waits for a text in the log; false likewise.
  bool AwaitLog(const std::string& text);

  std::string Log() const;
  std::vector<std::string> LogLines() const;

  // Processor time that the process has used so far.
  absl::Duration CpuTime() const;

 private:
  const std::string log_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_DAEMON_H_

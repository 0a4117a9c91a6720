// A program that runs as long as its owner lives, and no longer.
#ifndef LOCKSTEP_TOOLS_CHILD_PROCESS_H_
#define LOCKSTEP_TOOLS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lockstep {

// For one thread, which must outlive the child: the kernel kills the child when the thread that started it
// ends, whatever ends it. The child has a process group of its own, so that the terminal's Ctrl-C reaches
// only the owner.
class ChildProcess {
 public:
  struct Options {
    std::string program;                   // a path
    std::vector<std::string> arguments;    // without the program's name
    std::vector<std::string> environment;  // "NAME=value"; replaces those of the same name
    std::string output;                    // file that gets standard output and error
  };

  // Errors: those of opening `output` and of starting the program, with their paths.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const Options& options);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // How it ended: "exit code 2", "signal 9 (Killed)"; empty while it runs.
  std::optional<std::string> Ended();

  // Does nothing once it has ended.
  void Signal(int signal);

  // Waits for its end until the deadline. Returns whether it has ended.
  bool WaitUntil(absl::Time deadline);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<std::string> ended_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_CHILD_PROCESS_H_

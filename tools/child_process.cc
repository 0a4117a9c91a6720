#include "tools/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

extern char** environ;

namespace lockstep {
namespace {

constexpr absl::Duration kEndCheck = absl::Milliseconds(10);

std::vector<std::string> Environment(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::strcspn(*entry, "=") + 1);
    bool is_changed = false;
    for (const std::string& change : changes) is_changed |= absl::StartsWith(change, name);
    if (!is_changed) result.push_back(*entry);
  }
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> pointers;
  for (std::string& string : *strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: other threads of the parent may hold any lock, so only system calls.
[[noreturn]] void Become(const char* program, char** arguments, char** environment, int output, pid_t parent,
                         int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  // The parent may have died before the first line.
  if (getppid() == parent) execve(program, arguments, environment);
  const int error = errno;
  if (write(report, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

std::string EndText(int status) {
  if (WIFSIGNALED(status))
    return absl::StrCat("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const Options& options) {
  std::vector<std::string> argument_strings = options.arguments;
  argument_strings.insert(argument_strings.begin(), options.program);
  std::vector<std::string> environment_strings = Environment(options.environment);
  const std::vector<char*> arguments = Pointers(&argument_strings);
  const std::vector<char*> environment = Pointers(&environment_strings);

  const int output = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (output < 0) return absl::ErrnoToStatus(errno, options.output);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    close(output);
    return absl::ErrnoToStatus(errno, "pipe");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    Become(options.program.c_str(), const_cast<char**>(arguments.data()),
           const_cast<char**>(environment.data()), output, parent, report[1]);
  const int fork_error = errno;
  close(output);
  close(report[1]);
  // Ends without a byte when exec succeeds and closes the other end.
  int exec_error = 0;
  const bool failed = pid > 0 && read(report[0], &exec_error, sizeof(exec_error)) > 0;
  close(report[0]);
  if (pid < 0) return absl::ErrnoToStatus(fork_error, "fork");
  auto child = std::unique_ptr<ChildProcess>(new ChildProcess(pid));
  if (failed) return absl::ErrnoToStatus(exec_error, absl::StrCat("cannot run ", options.program));
  return child;
}

ChildProcess::~ChildProcess() {
  if (Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<std::string> ChildProcess::Ended() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) ended_ = EndText(status);
  return ended_;
}

void ChildProcess::Signal(int signal) {
  if (!Ended()) kill(pid_, signal);
}

bool ChildProcess::WaitUntil(absl::Time deadline) {
  while (!Ended()) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(kEndCheck);
  }
  return true;
}

}  // namespace lockstep

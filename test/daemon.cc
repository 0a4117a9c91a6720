#include "test/daemon.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "test/files.h"

namespace lockstep {
namespace {

// How often an outside event is looked for.
constexpr absl::Duration kPoll = absl::Milliseconds(5);

bool AwaitTrue(Daemon* daemon, const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kTestDeadline;
  while (!condition()) {
    if (!daemon->running() || absl::Now() >= deadline) return condition();
    absl::SleepFor(kPoll);
  }
  return true;
}

bool Listens(const std::string& address) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  sockaddr_in target{};
  int port = 0;
  CHECK(parts.size() == 2 && absl::SimpleAtoi(parts[1], &port)) << address;
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  CHECK_EQ(inet_pton(AF_INET, parts[0].c_str(), &target.sin_addr), 1) << address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0;
  close(fd);
  return connected;
}

}  // namespace

Daemon::Daemon(const DaemonOptions& options) : log_(options.log) {
  ChildProcess::Options child;
  child.program = options.program;
  child.arguments = options.flags;
  child.environment = options.environment;
  child.environment.push_back(absl::StrCat("TF_CONFIG=", options.tf_config));
  child.output = options.log;
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(child);
  CHECK(process.ok()) << process.status();
  process_ = *std::move(process);
}

void Daemon::Kill() {
  Signal(SIGKILL);
  CHECK_EQ(AwaitEnd(), "signal 9 (Killed)");
}

std::string Daemon::AwaitEnd(absl::Duration timeout) {
  process_->WaitUntil(absl::Now() + timeout);
  return process_->Ended().value_or("still running");
}

bool Daemon::AwaitListening(const std::string& address) {
  return AwaitTrue(this, [&address] { return Listens(address); });
}

bool Daemon::AwaitLog(const std::string& text) {
  return AwaitTrue(this, [this, &text] { return absl::StrContains(Log(), text); });
}

std::string Daemon::Log() const { return ReadFileOrDie(log_); }

std::vector<std::string> Daemon::LogLines() const { return absl::StrSplit(Log(), '\n', absl::SkipEmpty()); }

absl::Duration Daemon::CpuTime() const {
  // proc(5): the command's name, in parentheses, may hold blanks; user and system time are fields 14 and 15.
  const std::string stat = ReadFileOrDie(absl::StrCat("/proc/", pid(), "/stat"));
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');
  int64_t user = 0, system = 0;
  CHECK(absl::SimpleAtoi(fields[11], &user) && absl::SimpleAtoi(fields[12], &system)) << stat;
  return absl::Seconds(user + system) / sysconf(_SC_CLK_TCK);
}

}  // namespace lockstep

#include "tools/lockstep_runner.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"

namespace lockstep {
namespace {

constexpr int64_t kMostBytes = 64 << 20;

}  // namespace

LockstepRunner::LockstepRunner() {
  char path[PATH_MAX];
  runfiles_ = getcwd(path, sizeof(path));
  directory_ = absl::StrCat(std::getenv("TEST_TMPDIR"), "/run-XXXXXX");
  if (mkdtemp(directory_.data()) == nullptr) std::abort();
}

LockstepRunner::~LockstepRunner() { RemoveRecursively(FileSystem::Posix(), directory_).IgnoreError(); }

std::string LockstepRunner::Path(const std::string& runfile) const {
  return absl::StrCat(runfiles_, "/", runfile);
}

LockstepRunner::Result LockstepRunner::Run(const std::string& arguments) const {
  // First, so that `arguments` may redirect elsewhere: the last redirection counts.
  const std::string command = absl::StrCat("cd '", directory_, "' && '", Path("tools/lockstep"),
                                           "' < /dev/null 2> stderr > stdout ", arguments);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), Read("stdout"), Read("stderr")};
}

void LockstepRunner::Write(const std::string& name, const std::string& text) const {
  std::ofstream(absl::StrCat(directory_, "/", name)) << text;
}

std::string LockstepRunner::Read(const std::string& name) const {
  return ReadWholeFile(FileSystem::Posix(), absl::StrCat(directory_, "/", name), kMostBytes).value_or("");
}

int LockstepRunner::CountProcesses(const std::string& text) {
  int count = 0;
  const std::vector<std::string> names = FileSystem::Posix()->ListDirectory("/proc").value();
  for (const std::string& name : names) {
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
    std::ifstream file(absl::StrCat("/proc/", name, "/cmdline"));
    std::stringstream command_line;
    command_line << file.rdbuf();
    if (absl::StrContains(command_line.str(), text)) ++count;
  }
  return count;
}

}  // namespace lockstep

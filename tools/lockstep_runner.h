// Runs `lockstep` as a user would, for tests: in a directory of the test's own.
#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUNNER_H_
#define LOCKSTEP_TOOLS_LOCKSTEP_RUNNER_H_

#include <string>

#include "nlohmann/json.hpp"

namespace lockstep {

class LockstepRunner {
 public:
  struct Result {
    int exit_code;
    std::string output;
    std::string errors;
  };

  LockstepRunner();
  // Removes the directory.
  ~LockstepRunner();

  // `arguments` are words of the shell; the working directory is directory().
  Result Run(const std::string& arguments) const;

  const std::string& directory() const { return directory_; }
  // Absolute paths of files that were built or come with the product.
  std::string Path(const std::string& runfile) const;
  void Write(const std::string& name, const std::string& text) const;
  std::string Read(const std::string& name) const;
  nlohmann::json ReadJson(const std::string& name) const { return nlohmann::json::parse(Read(name)); }

  // Processes of this machine whose command line holds `text`.
  static int CountProcesses(const std::string& text);

 private:
  std::string runfiles_;
  std::string directory_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_LOCKSTEP_RUNNER_H_

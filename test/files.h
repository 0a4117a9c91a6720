// Files of tests. Every function dies with a message on an error.
#ifndef LOCKSTEP_TEST_FILES_H_
#define LOCKSTEP_TEST_FILES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// A fresh directory below the running test's.
std::string MakeTemporaryDirectory();

std::string ReadFileOrDie(const std::string& path);

// Makes missing directories above `path`.
void WriteFileOrDie(const std::string& path, absl::string_view contents);

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_FILES_H_

#include "test/files.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_utilities.h"
#include "base/logging.h"
#include "gtest/gtest.h"

namespace lockstep {

std::string MakeTemporaryDirectory() {
  std::string path = absl::StrCat(absl::StripSuffix(::testing::TempDir(), "/"), "/cluster-XXXXXX");
  CHECK(mkdtemp(path.data()) != nullptr) << path;
  return path;
}

std::string ReadFileOrDie(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFileOrDie(const std::string& path, absl::string_view contents) {
  const absl::Status made = CreateDirectories(FileSystem::Posix(), ParentDirectory(path));
  CHECK(made.ok()) << made;
  std::ofstream file(path, std::ios::binary);
  file << contents;
  file.close();
  CHECK(file.good()) << path;
}

}  // namespace lockstep

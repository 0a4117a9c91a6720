#include "data/test_support.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace lockstep {

std::shared_ptr<const Bytes> ToBytes(absl::string_view text) {
  return HoldVector(std::vector<char>(text.begin(), text.end()));
}

std::string FixtureText(const std::string& name) { return ReadText(absl::StrCat("test/fixtures/", name)); }

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TestDirectory::TestDirectory() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  path_ = absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(), ".", test->name());
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

void TestDirectory::Write(const std::string& name, absl::string_view content) const {
  std::ofstream(absl::StrCat(path_, "/", name), std::ios::binary) << content;
}

std::string MakeNpy(int version, absl::string_view dictionary, absl::string_view data) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  const int length_bytes = version == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) file += static_cast<char>((dictionary.size() >> (8 * i)) & 0xFF);
  return absl::StrCat(file, dictionary, data);
}

AllRows ReadAll(const Dataset& dataset) {
  const DatasetInfo& info = dataset.info();
  std::vector<int64_t> rows(info.rows);
  std::iota(rows.begin(), rows.end(), 0);
  AllRows all;
  all.features.resize(info.rows * info.feature_elements());
  if (info.label_kind == LabelKind::kClass) {
    all.classes.resize(info.rows);
  } else {
    all.values.resize(info.rows * info.label_elements());
  }
  EXPECT_OK(dataset.Read(rows, all.features.data(), {all.classes.data(), all.values.data()}));
  return all;
}

absl::Status ReadRow(const Dataset& dataset, int64_t row) {
  std::vector<float> features(dataset.info().feature_elements());
  std::vector<float> values(dataset.info().label_elements());
  int32_t label = 0;
  return dataset.Read({row}, features.data(), {&label, values.data()});
}

}  // namespace lockstep

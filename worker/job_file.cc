#include "worker/job_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file_system.h"
#include "base/file_utilities.h"
#include "base/read_stream.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int64_t kMostBytes = int64_t{16} << 20;

// A message quotes the word that it does not understand, which may be the whole file.
std::string OneShortLine(std::string message) {
  constexpr size_t kMost = 300;
  if (message.size() > kMost) message = message.substr(0, kMost) + "...";
  return absl::StrReplaceAll(message, {{"\n", " "}});
}

// Keeps the first error; later ones are consequences.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  // Counted from 0.
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty())
      text_ = absl::StrCat("line ", line + 1, " column ", column + 1, ": ", OneShortLine(message));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::StatusOr<v1::JobSpec> ParseJson(absl::string_view text, const std::string& name) {
  v1::JobSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(text), &spec);
  if (status.ok()) return spec;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", OneShortLine(std::string(status.message()))));
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJob(absl::string_view text, const std::string& name) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // some editors begin UTF-8 files with it
  if (absl::StripLeadingAsciiWhitespace(text).substr(0, 1) == "{") return ParseJson(text, name);
  v1::JobSpec spec;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(std::string(text), &spec)) return spec;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.text()));
}

absl::StatusOr<v1::JobSpec> ReadJobFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, IsStream(path)
                                               ? ReadStreamFile(path, kMostBytes)
                                               : ReadWholeFile(FileSystem::Posix(), path, kMostBytes));
  return ParseJob(text, path);
}

}  // namespace lockstep

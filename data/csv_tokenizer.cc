#include "data/csv_tokenizer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr char kQuote = '"';

}  // namespace

CsvTokenizer::CsvTokenizer(absl::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {
  if (absl::StartsWith(text_, kByteOrderMark)) at_ = kByteOrderMark.size();
}

absl::StatusOr<bool> CsvTokenizer::Next(CsvRecord* record) {
  SkipBlankLines();
  if (AtEnd()) return false;
  record->text_.clear();
  record->ends_.clear();
  record->line_ = line_;
  while (true) {
    SkipBlanks();
    if (!AtEnd() && text_[at_] == kQuote) {
      RETURN_IF_ERROR(AppendQuoted(record));
    } else {
      AppendPlain(record);
    }
    record->ends_.push_back(record->text_.size());
    if (!AtDelimiter()) break;
    ++at_;
  }
  if (AtLineEnd()) TakeLineEnd();
  return true;
}

void CsvTokenizer::SkipBlanks() {
  while (!AtEnd() && IsBlank(text_[at_])) ++at_;
}

void CsvTokenizer::SkipBlankLines() {
  SkipBlanks();
  while (AtLineEnd()) {
    TakeLineEnd();
    SkipBlanks();
  }
}

void CsvTokenizer::TakeLineEnd() {
  at_ += absl::StartsWith(text_.substr(at_), "\r\n") ? 2 : 1;
  ++line_;
}

void CsvTokenizer::AppendPlain(CsvRecord* record) {
  const size_t begin = at_;
  while (!AtEnd() && !AtDelimiter() && !AtLineEnd()) ++at_;
  size_t end = at_;
  while (end > begin && IsBlank(text_[end - 1])) --end;
  record->text_.append(text_.data() + begin, end - begin);
}

absl::Status CsvTokenizer::AppendQuoted(CsvRecord* record) {
  const int64_t first_line = line_;
  bool closed = false;
  while (!closed) {
    const size_t begin = ++at_;  // behind the opening quote, or the second one of a pair
    const size_t end = text_.find(kQuote, begin);
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", first_line, ": a quoted field is never closed"));
    }
    const absl::string_view part = text_.substr(begin, end - begin);
    record->text_.append(part.data(), part.size());
    CountLines(part);
    at_ = end + 1;
    closed = AtEnd() || text_[at_] != kQuote;
    if (!closed) record->text_.push_back(kQuote);
  }
  SkipBlanks();
  if (AtEnd() || AtDelimiter() || AtLineEnd()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", line_, ": text follows the closing quote of a field; write \"\" for a quote inside"));
}

void CsvTokenizer::CountLines(absl::string_view quoted_text) {
  for (size_t i = 0; i < quoted_text.size(); ++i) {
    const bool begins_pair = absl::StartsWith(quoted_text.substr(i), "\r\n");
    if (quoted_text[i] == '\n' || (quoted_text[i] == '\r' && !begins_pair)) ++line_;
  }
}

}  // namespace lockstep

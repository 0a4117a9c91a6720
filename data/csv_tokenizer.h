// Splits CSV text into records and fields: RFC 4180, with what files in the wild need.
//
// A field may be quoted; inside quotes, delimiters and line ends are text and "" is one quote. Lines end in
// LF, CR LF or CR; the last one need not. A UTF-8 byte order mark at the beginning, blanks (spaces and tabs)
// around a field, and lines of blanks only are skipped. A quote inside an unquoted field is text.
#ifndef LOCKSTEP_DATA_CSV_TOKENIZER_H_
#define LOCKSTEP_DATA_CSV_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// The fields of one record, unquoted. Reused from record to record to save allocations.
class CsvRecord {
 public:
  size_t size() const { return ends_.size(); }
  absl::string_view field(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return absl::string_view(text_).substr(begin, ends_[i] - begin);
  }
  int64_t line() const { return line_; }  // on which the record begins, from 1

 private:
  friend class CsvTokenizer;

  std::string text_;  // all fields, one after the other
  std::vector<size_t> ends_;
  int64_t line_ = 0;
};

class CsvTokenizer {
 public:
  // `text` must outlive the tokenizer.
  CsvTokenizer(absl::string_view text, char delimiter);

  // Reads the next record; false at the end of the text.
  // Errors: INVALID_ARGUMENT, with the line, for a quoted field that is not closed or has text behind it.
  absl::StatusOr<bool> Next(CsvRecord* record);

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  bool AtLineEnd() const { return !AtEnd() && (text_[at_] == '\n' || text_[at_] == '\r'); }
  bool AtDelimiter() const { return !AtEnd() && text_[at_] == delimiter_; }
  bool IsBlank(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }
  void SkipBlanks();
  void SkipBlankLines();
  void TakeLineEnd();
  void AppendPlain(CsvRecord* record);
  absl::Status AppendQuoted(CsvRecord* record);
  void CountLines(absl::string_view quoted_text);

  const absl::string_view text_;
  const char delimiter_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_CSV_TOKENIZER_H_

#include "worker/strict_json.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

// The character that begins at `offset`: one byte, or a whole UTF-8 sequence, as quotes of word processors
// are.
std::string CharacterAt(absl::string_view text, size_t offset) {
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  size_t end = offset + 1;
  while (end < text.size() && end < offset + 4 && is_continuation(text[end])) ++end;
  return std::string(text.substr(offset, end - offset));
}

bool IsWordProcessorQuote(absl::string_view character) {
  for (absl::string_view quote : {"\u2018", "\u2019", "\u201C", "\u201D", "\u00AB", "\u00BB"}) {
    if (character == quote) return true;
  }
  return false;
}

std::string Unexpected(absl::string_view text, size_t offset) {
  if (offset >= text.size()) return "it ends too early";
  const std::string character = CharacterAt(text, offset);
  if (character == "'") return "unexpected character ' (JSON strings stand in double quotes)";
  if (IsWordProcessorQuote(character)) {
    return absl::StrCat("unexpected character ", character,
                        " (JSON strings stand in plain double quotes \")");
  }
  const bool printable = character.size() == 1 && character[0] > ' ' && character[0] < 0x7F;
  const std::string shown = printable ? character : Quoted(character);
  const bool closes = character == "}" || character == "]";
  const size_t before = text.substr(0, offset).find_last_not_of(" \t\r\n");
  const bool trailing_comma = closes && before != absl::string_view::npos && text[before] == ',';
  return absl::StrCat("unexpected character ", shown, trailing_comma ? " after a comma" : "");
}

absl::Status SyntaxError(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
  return absl::InvalidArgumentError(absl::StrCat("is not JSON: line ", line, ", column ",
                                                 offset - line_start + 1, " (position ", offset,
                                                 "): ", Unexpected(text, offset)));
}

// Hears the events of a parse and keeps the first thing that is wrong.
class StrictnessCheck : public nlohmann::json_sax<json> {
 public:
  explicit StrictnessCheck(absl::string_view text) : text_(text) {}

  const absl::Status& status() const { return status_; }

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override { return Value(); }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }

  bool start_object(std::size_t) override { return Open(/*is_array=*/false); }
  bool end_object() override { return CloseContainer(); }
  bool start_array(std::size_t) override { return Open(/*is_array=*/true); }
  bool end_array() override { return CloseContainer(); }

  bool key(string_t& name) override {
    open_.back().key = name;
    if (open_.back().keys.insert(name).second) return true;
    status_ = absl::InvalidArgumentError(absl::StrCat("has the key ", Path(), " twice"));
    return false;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    // `position` counts the bytes read, the offending one included.
    status_ = SyntaxError(text_, position == 0 ? 0 : position - 1);
    return false;
  }

 private:
  struct Container {
    bool is_array;
    size_t index = 0;  // of the next element of an array
    std::string key;   // the last one of an object
    std::set<std::string> keys;
  };

  bool Open(bool is_array) {
    open_.push_back({is_array, 0, "", {}});
    return true;
  }
  bool CloseContainer() {
    open_.pop_back();
    return Value();
  }
  bool Value() {
    if (!open_.empty() && open_.back().is_array) ++open_.back().index;
    return true;
  }

  std::string Path() const {
    std::string path;
    for (const Container& container : open_) {
      if (container.is_array) {
        absl::StrAppend(&path, "[", container.index, "]");
      } else {
        absl::StrAppend(&path, path.empty() ? "" : ".", container.key);
      }
    }
    return Quoted(path);
  }

  const absl::string_view text_;
  std::vector<Container> open_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<json> ParseStrictJson(absl::string_view text) {
  StrictnessCheck check(text);
  json::sax_parse(text.begin(), text.end(), &check);
  RETURN_IF_ERROR(check.status());
  return json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

}  // namespace lockstep

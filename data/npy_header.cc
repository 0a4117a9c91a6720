#include "data/npy_header.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "data/array_bytes.h"

namespace lockstep {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kVersionBytes = 2;
constexpr size_t kMostDimensions = 32;  // NumPy's own limit

// What the dictionary says, before it is interpreted.
struct Dictionary {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Reads the subset of Python literals that NumPy writes: strings, True, False, tuples of integers.
class DictionaryParser {
 public:
  explicit DictionaryParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Dictionary> Parse() {
    Dictionary dictionary;
    if (!Take('{')) return Wrong("a dictionary");
    while (!Take('}')) {
      RETURN_IF_ERROR(ParseEntry(&dictionary));
      if (!Take(',') && Peek() != '}') return Wrong("',' or '}'");
    }
    SkipBlanks();
    if (at_ != text_.size()) return Wrong("the end");
    return dictionary;
  }

 private:
  absl::Status ParseEntry(Dictionary* dictionary) {
    ASSIGN_OR_RETURN(const std::string key, ParseString());
    if (!Take(':')) return Wrong("':'");
    if (key == "descr" && !dictionary->descr) {
      ASSIGN_OR_RETURN(dictionary->descr, ParseString());
    } else if (key == "fortran_order" && !dictionary->fortran_order) {
      ASSIGN_OR_RETURN(dictionary->fortran_order, ParseBool());
    } else if (key == "shape" && !dictionary->shape) {
      ASSIGN_OR_RETURN(dictionary->shape, ParseShape());
    } else {
      return Wrong("each of the keys descr, fortran_order and shape once");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ParseString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Wrong("a string (structured types are not supported)");
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == absl::string_view::npos) return Wrong("a closing quote");
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  absl::StatusOr<bool> ParseBool() {
    SkipBlanks();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!absl::StartsWith(text_.substr(at_), word)) continue;
      at_ += absl::string_view(word).size();
      return value;
    }
    return Wrong("True or False");
  }

  absl::StatusOr<std::vector<int64_t>> ParseShape() {
    std::vector<int64_t> shape;
    if (!Take('(')) return Wrong("a tuple");
    while (!Take(')')) {
      ASSIGN_OR_RETURN(const int64_t dimension, ParseDimension());
      shape.push_back(dimension);
      if (!Take(',') && Peek() != ')') return Wrong("',' or ')'");
      if (shape.size() > kMostDimensions) return Wrong("at most 32 dimensions");
    }
    return shape;
  }

  absl::StatusOr<int64_t> ParseDimension() {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && absl::ascii_isdigit(text_[at_])) ++at_;
    int64_t dimension = 0;
    if (!absl::SimpleAtoi(text_.substr(begin, at_ - begin), &dimension)) return Wrong("a dimension");
    Take('L');  // as Python 2 wrote long integers
    return dimension;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  char Peek() {
    SkipBlanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char wanted) {
    if (Peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  absl::Status Wrong(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("expected ", expected, " at character ", at_));
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

absl::StatusOr<ElementFormat> ParseDescr(const std::string& descr) {
  ElementFormat format;
  absl::string_view type = descr;
  if (!type.empty() && absl::StrContains("<>|=", type[0])) {
    if (type[0] == '>') format.order = ByteOrder::kBig;
    type.remove_prefix(1);
  }
  for (int i = 0; i <= static_cast<int>(ElementType::kB1); ++i) {
    format.type = static_cast<ElementType>(i);
    if (type == ElementTypeName(format.type)) return format;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("element type ", Quoted(descr), " is not one of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1"));
}

absl::StatusOr<NpyHeader> Interpret(const Dictionary& dictionary) {
  if (!dictionary.descr || !dictionary.fortran_order || !dictionary.shape) {
    return absl::InvalidArgumentError("one of the keys descr, fortran_order and shape is missing");
  }
  NpyHeader header;
  ASSIGN_OR_RETURN(header.format, ParseDescr(*dictionary.descr));
  header.fortran_order = *dictionary.fortran_order;
  header.shape = *dictionary.shape;
  ASSIGN_OR_RETURN(header.data_bytes, CheckedArrayBytes(header.shape, ElementBytes(header.format.type)));
  return header;
}

absl::StatusOr<NpyHeader> Parse(absl::string_view start) {
  if (!absl::StartsWith(start, kMagic) || start.size() < kMagic.size() + kVersionBytes) {
    return absl::InvalidArgumentError(
        "not an NPY array (it does not begin with 93 4E 55 4D 50 59 and a version)");
  }
  const int version = static_cast<unsigned char>(start[kMagic.size()]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(absl::StrCat("NPY version ", version, " is not 1, 2 or 3"));
  }
  const size_t length_offset = kMagic.size() + kVersionBytes;
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t text_offset = length_offset + length_bytes;
  if (start.size() < text_offset) return absl::InvalidArgumentError("the NPY header is cut off");
  int64_t length = 0;
  for (size_t i = length_bytes; i > 0; --i) {
    length = (length << 8) | static_cast<unsigned char>(start[length_offset + i - 1]);
  }
  const int64_t available = static_cast<int64_t>(start.size() - text_offset);
  if (length > kMostNpyHeaderBytes || length > available) {
    return absl::InvalidArgumentError(absl::StrCat("the NPY header claims ", length, " bytes; ", available,
                                                   " follow, and at most ", kMostNpyHeaderBytes,
                                                   " are supported"));
  }
  ASSIGN_OR_RETURN(const Dictionary dictionary, DictionaryParser(start.substr(text_offset, length)).Parse());
  ASSIGN_OR_RETURN(NpyHeader header, Interpret(dictionary));
  header.data_offset = static_cast<int64_t>(text_offset) + length;
  return header;
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::byte> start, const std::string& name) {
  auto header = Parse(absl::string_view(reinterpret_cast<const char*>(start.data()), start.size()));
  if (!header.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": NPY header: ", header.status().message()));
  }
  return header;
}

}  // namespace lockstep

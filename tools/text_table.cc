#include "tools/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(column.title.size());
}

void TextTable::AddRow(std::vector<std::string> cells) {
  for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths_[i] - cells[i].size(), ' ');
    absl::StrAppend(&line, i > 0 ? "  " : "", columns_[i].align == Align::kRight ? blanks : "", cells[i],
                    columns_[i].align == Align::kLeft ? blanks : "");
  }
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
}

std::string TextTable::ToString() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = Line(titles);
  for (const std::vector<std::string>& row : rows_) text += Line(row);
  return text;
}

}  // namespace lockstep

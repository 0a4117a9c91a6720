// Columns of text, as wide as their contents.
#ifndef LOCKSTEP_TOOLS_TEXT_TABLE_H_
#define LOCKSTEP_TOOLS_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns);

  // One cell per column.
  void AddRow(std::vector<std::string> cells);

  // Titles and rows, columns two blanks apart, no blanks at the ends of lines.
  std::string ToString() const;

 private:
  std::string Line(const std::vector<std::string>& cells) const;

  const std::vector<Column> columns_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_TEXT_TABLE_H_

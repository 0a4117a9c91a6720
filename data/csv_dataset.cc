#include "data/csv_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "data/array_dataset.h"
#include "data/csv_tokenizer.h"
#include "data/row_names.h"
#include "data/typed_array.h"

namespace lockstep {
namespace {

std::string QuotedList(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) { *out += Quoted(name); });
}

// "0x10" is a text to people who write tables; Abseil reads it as 16.
bool IsHexadecimal(absl::string_view cell) { return cell.find_first_of("xX") != absl::string_view::npos; }

// A number that is written out and too large for its type; "inf" is what the row says.
bool IsTooLarge(absl::string_view cell, double value) {
  return std::isinf(value) && cell.find_first_of("0123456789") != absl::string_view::npos;
}

bool IsMissing(absl::string_view cell) {
  return cell.empty() || absl::EqualsIgnoreCase(cell, "NA") || absl::EqualsIgnoreCase(cell, "N/A");
}

class CsvRowNames : public RowNames {
 public:
  std::string Row(int64_t row) const override {
    const auto behind = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
    const size_t file = static_cast<size_t>(behind - first_rows_.begin()) - 1;
    return absl::StrCat("file ", files_[file], " line ", lines_[row], " (row ", row, ")");
  }
  std::string Feature(int64_t row, int64_t element) const override {
    return absl::StrCat(Row(row), " column ", Quoted(features_[element]));
  }
  std::string Label(int64_t row) const override { return absl::StrCat(Row(row), " column ", Quoted(label_)); }

  void AddFile(std::string name) {
    files_.push_back(std::move(name));
    first_rows_.push_back(rows());
  }
  void AddRow(int64_t line) { lines_.push_back(line); }
  void SetColumns(std::vector<std::string> features, std::string label) {
    features_ = std::move(features);
    label_ = std::move(label);
  }
  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }

 private:
  std::vector<std::string> files_;
  std::vector<int64_t> first_rows_;  // of each file
  std::vector<int64_t> lines_;       // of each row
  std::vector<std::string> features_;
  std::string label_;
};

// Collects the rows of one file after the other.
class CsvLoader {
 public:
  explicit CsvLoader(const CsvOptions& options)
      : options_(options), names_(std::make_shared<CsvRowNames>()) {}

  absl::Status AddFile(const CsvFile& file);
  absl::StatusOr<std::shared_ptr<const Dataset>> Finish();

 private:
  absl::Status ReadHeader(CsvTokenizer* tokenizer);
  absl::Status ChooseColumns();
  absl::StatusOr<size_t> FindColumn(const std::string& name) const;
  absl::Status IsThereTwice(const std::string& name) const;
  absl::Status AddRow(const CsvRecord& record);
  absl::Status AddFeature(const CsvRecord& record, size_t column);
  absl::Status AddLabel(const CsvRecord& record);
  absl::Status InFile(const absl::Status& status) const;
  absl::Status BadCell(const CsvRecord& record, size_t column, absl::string_view problem) const;

  const CsvOptions& options_;
  std::string file_;  // being read
  std::vector<std::string> header_;
  std::vector<size_t> feature_columns_;
  size_t label_column_ = 0;
  std::vector<float> features_;
  std::vector<double> labels_;  // double: holds any class number exactly
  std::shared_ptr<CsvRowNames> names_;
};

absl::Status CsvLoader::AddFile(const CsvFile& file) {
  file_ = file.name;
  names_->AddFile(file.name);
  const absl::string_view text(reinterpret_cast<const char*>(file.bytes->data()), file.bytes->size());
  CsvTokenizer tokenizer(text, options_.delimiter);
  RETURN_IF_ERROR(ReadHeader(&tokenizer));
  CsvRecord record;
  while (true) {
    const absl::StatusOr<bool> more = tokenizer.Next(&record);
    if (!more.ok()) return InFile(more.status());
    if (!*more) return absl::OkStatus();
    RETURN_IF_ERROR(AddRow(record));
  }
}

absl::Status CsvLoader::ReadHeader(CsvTokenizer* tokenizer) {
  CsvRecord record;
  const absl::StatusOr<bool> found = tokenizer->Next(&record);
  if (!found.ok()) return InFile(found.status());
  if (!*found) return InFile(absl::InvalidArgumentError("the header line with the column names is missing"));
  std::vector<std::string> header;
  for (size_t i = 0; i < record.size(); ++i) header.emplace_back(record.field(i));
  if (header_.empty()) {
    header_ = std::move(header);
    return ChooseColumns();
  }
  if (header == header_) return absl::OkStatus();
  return InFile(absl::InvalidArgumentError(absl::StrCat("its header (", QuotedList(header),
                                                        ") differs from that of the first file (",
                                                        QuotedList(header_), ")")));
}

absl::Status CsvLoader::ChooseColumns() {
  ASSIGN_OR_RETURN(label_column_, FindColumn(options_.label));
  for (const std::string& name : options_.features) {
    ASSIGN_OR_RETURN(const size_t column, FindColumn(name));
    if (column == label_column_) {
      return InFile(
          absl::InvalidArgumentError(absl::StrCat("column ", Quoted(name), " is both feature and label")));
    }
    if (std::count(feature_columns_.begin(), feature_columns_.end(), column) > 0) {
      return InFile(absl::InvalidArgumentError(absl::StrCat("column ", Quoted(name), " is listed twice")));
    }
    feature_columns_.push_back(column);
  }
  std::set<absl::string_view> names_seen;
  for (size_t column = 0; options_.features.empty() && column < header_.size(); ++column) {
    if (!names_seen.insert(header_[column]).second) return IsThereTwice(header_[column]);
    if (column != label_column_) feature_columns_.push_back(column);
  }
  if (feature_columns_.empty()) {
    return InFile(absl::InvalidArgumentError("there is no column besides the label"));
  }
  std::vector<std::string> names;
  for (const size_t column : feature_columns_) names.push_back(header_[column]);
  names_->SetColumns(std::move(names), options_.label);
  return absl::OkStatus();
}

absl::StatusOr<size_t> CsvLoader::FindColumn(const std::string& name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) {
    return InFile(absl::InvalidArgumentError(
        absl::StrCat("there is no column ", Quoted(name), "; the header has: ", QuotedList(header_))));
  }
  if (std::find(found + 1, header_.end(), name) != header_.end()) {
    return IsThereTwice(name);
  }
  return static_cast<size_t>(found - header_.begin());
}

absl::Status CsvLoader::IsThereTwice(const std::string& name) const {
  return InFile(absl::InvalidArgumentError(absl::StrCat("the header has column ", Quoted(name), " twice")));
}

absl::Status CsvLoader::AddRow(const CsvRecord& record) {
  if (record.size() != header_.size()) {
    return InFile(absl::InvalidArgumentError(absl::StrCat("line ", record.line(), ": ", record.size(),
                                                          " fields, but the header has ", header_.size())));
  }
  for (const size_t column : feature_columns_) RETURN_IF_ERROR(AddFeature(record, column));
  RETURN_IF_ERROR(AddLabel(record));
  names_->AddRow(record.line());
  return absl::OkStatus();
}

absl::Status CsvLoader::AddFeature(const CsvRecord& record, size_t column) {
  const absl::string_view cell = record.field(column);
  float value = 0;
  if (IsMissing(cell)) {
    if (!options_.missing_value)
      return BadCell(record, column, "is missing; set missing_value or drop the row");
    value = *options_.missing_value;
  } else if (IsHexadecimal(cell) || !absl::SimpleAtof(cell, &value)) {
    return BadCell(record, column, "is not a number; if the column is not a feature, list those that are");
  }
  if (IsTooLarge(cell, value)) return BadCell(record, column, "is beyond the range of float32");
  features_.push_back(value);
  return absl::OkStatus();
}

absl::Status CsvLoader::AddLabel(const CsvRecord& record) {
  const absl::string_view cell = record.field(label_column_);
  double value = 0;
  if (IsMissing(cell)) return BadCell(record, label_column_, "is a missing label; drop the row");
  if (IsHexadecimal(cell) || !absl::SimpleAtod(cell, &value))
    return BadCell(record, label_column_, "is not a number");
  if (IsTooLarge(cell, value)) return BadCell(record, label_column_, "is beyond the range of float64");
  labels_.push_back(value);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dataset>> CsvLoader::Finish() {
  const int64_t rows = names_->rows();
  if (rows == 0) return InFile(absl::InvalidArgumentError("there are no rows below the header"));
  ArrayDataset::Source source;
  source.features.name = "features";
  source.features.format.type = ElementType::kF4;
  source.features.shape = {rows, static_cast<int64_t>(feature_columns_.size())};
  source.features.storage = HoldVector(std::move(features_));
  source.labels.name = "labels";
  source.labels.format.type = ElementType::kF8;
  source.labels.shape = {rows};
  source.labels.storage = HoldVector(std::move(labels_));
  source.label_kind = options_.label_kind;
  source.scale = options_.scale;
  source.names = names_;
  return ArrayDataset::CreateFromSource(std::move(source));
}

absl::Status CsvLoader::InFile(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat("file ", file_, ": ", status.message()));
}

absl::Status CsvLoader::BadCell(const CsvRecord& record, size_t column, absl::string_view problem) const {
  return absl::InvalidArgumentError(absl::StrCat("file ", file_, " line ", record.line(), " column ",
                                                 Quoted(header_[column]), ": ", Quoted(record.field(column)),
                                                 " ", problem));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> OpenCsv(absl::Span<const CsvFile> files,
                                                       const CsvOptions& options) {
  CsvLoader loader(options);
  for (const CsvFile& file : files) RETURN_IF_ERROR(loader.AddFile(file));
  return loader.Finish();
}

}  // namespace lockstep

#include "data/open_dataset.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/path.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "data/array_dataset.h"
#include "data/csv_dataset.h"
#include "data/idx_array.h"
#include "data/mapped_file.h"
#include "data/npy_array.h"
#include "data/npz_archive.h"
#include "data/synthetic_dataset.h"
#include "proto/data.pb.h"

namespace lockstep {
namespace {

using Result = absl::StatusOr<std::shared_ptr<const Dataset>>;

constexpr char kNpyFeatures[] = "npy.features";
constexpr char kNpyLabels[] = "npy.labels";
constexpr char kNpzPath[] = "npz.path";
constexpr char kIdxImages[] = "idx.images";
constexpr char kIdxLabels[] = "idx.labels";
constexpr char kCsvPaths[] = "csv.paths";

absl::StatusOr<std::shared_ptr<const Bytes>> MapBelowRoot(const std::string& path, const OpenOptions& options,
                                                          const char* field) {
  ASSIGN_OR_RETURN(const std::string resolved, ResolveBelow(options.data_root, path, field));
  return MapFile(resolved, path);
}

std::string FileName(const std::string& path) { return absl::StrCat("file ", path); }

// Npy, Npz, Idx and Csv each have an optional scale.
template <typename Spec>
absl::StatusOr<float> ScaleOf(const Spec& spec) {
  const float scale = spec.has_scale() ? spec.scale() : 1.0f;
  if (std::isfinite(scale) && scale != 0) return scale;
  return absl::InvalidArgumentError(absl::StrCat("scale ", scale, " must be a finite number other than 0"));
}

Result FromArrays(TypedArray features, TypedArray labels, float scale, const OpenOptions& options) {
  ArrayDataset::Source source;
  source.features = std::move(features);
  source.labels = std::move(labels);
  source.label_kind = options.wanted_labels;
  source.scale = scale;
  return ArrayDataset::CreateFromSource(std::move(source));
}

Result OpenSynthetic(const v1::Synthetic& spec, const OpenOptions& options) {
  SyntheticDataset::Options synthetic;
  synthetic.rows = spec.rows();
  synthetic.feature_shape.assign(spec.feature_shape().begin(), spec.feature_shape().end());
  synthetic.classes = spec.classes();
  synthetic.seed = spec.seed();
  synthetic.label_kind = options.wanted_labels;
  return SyntheticDataset::Create(synthetic);
}

Result OpenNpy(const v1::Npy& spec, const OpenOptions& options) {
  ASSIGN_OR_RETURN(const float scale, ScaleOf(spec));
  ASSIGN_OR_RETURN(auto feature_bytes, MapBelowRoot(spec.features(), options, kNpyFeatures));
  ASSIGN_OR_RETURN(auto label_bytes, MapBelowRoot(spec.labels(), options, kNpyLabels));
  ASSIGN_OR_RETURN(TypedArray features, ParseNpy(std::move(feature_bytes), FileName(spec.features())));
  ASSIGN_OR_RETURN(TypedArray labels, ParseNpy(std::move(label_bytes), FileName(spec.labels())));
  return FromArrays(std::move(features), std::move(labels), scale, options);
}

Result OpenNpz(const v1::Npz& spec, const OpenOptions& options) {
  ASSIGN_OR_RETURN(const float scale, ScaleOf(spec));
  ASSIGN_OR_RETURN(auto bytes, MapBelowRoot(spec.path(), options, kNpzPath));
  ASSIGN_OR_RETURN(const NpzArchive archive, NpzArchive::Open(std::move(bytes), spec.path()));
  ASSIGN_OR_RETURN(TypedArray features, archive.Read(spec.features().empty() ? "x" : spec.features()));
  ASSIGN_OR_RETURN(TypedArray labels, archive.Read(spec.labels().empty() ? "y" : spec.labels()));
  return FromArrays(std::move(features), std::move(labels), scale, options);
}

Result OpenIdx(const v1::Idx& spec, const OpenOptions& options) {
  ASSIGN_OR_RETURN(const float scale, ScaleOf(spec));
  ASSIGN_OR_RETURN(auto image_bytes, MapBelowRoot(spec.images(), options, kIdxImages));
  ASSIGN_OR_RETURN(auto label_bytes, MapBelowRoot(spec.labels(), options, kIdxLabels));
  ASSIGN_OR_RETURN(TypedArray images,
                   ParseIdx(std::move(image_bytes), IdxContent::kImages, FileName(spec.images())));
  ASSIGN_OR_RETURN(TypedArray labels,
                   ParseIdx(std::move(label_bytes), IdxContent::kLabels, FileName(spec.labels())));
  return FromArrays(std::move(images), std::move(labels), scale, options);
}

absl::StatusOr<char> DelimiterOf(const v1::Csv& spec) {
  if (spec.delimiter().empty()) return ',';
  const char delimiter = spec.delimiter()[0];
  if (spec.delimiter().size() == 1 && delimiter != '"' && delimiter != '\n' && delimiter != '\r')
    return delimiter;
  return absl::InvalidArgumentError(absl::StrCat("csv.delimiter ", Quoted(spec.delimiter()),
                                                 " must be one byte, and no quote or line end"));
}

LabelKind CsvLabelKind(const v1::Csv& spec, const OpenOptions& options) {
  if (spec.label_type() == v1::Csv::CLASS) return LabelKind::kClass;
  if (spec.label_type() == v1::Csv::FLOAT) return LabelKind::kFloat;
  return options.wanted_labels;
}

Result OpenCsvFiles(const v1::Csv& spec, const OpenOptions& options) {
  if (spec.paths().empty()) return absl::InvalidArgumentError("csv.paths: at least one path is needed");
  if (spec.label().empty()) return absl::InvalidArgumentError("csv.label: the name of a column is needed");
  CsvOptions csv;
  csv.features.assign(spec.features().begin(), spec.features().end());
  csv.label = spec.label();
  csv.label_kind = CsvLabelKind(spec, options);
  if (spec.has_missing_value()) csv.missing_value = spec.missing_value();
  ASSIGN_OR_RETURN(csv.delimiter, DelimiterOf(spec));
  ASSIGN_OR_RETURN(csv.scale, ScaleOf(spec));
  std::vector<CsvFile> files;
  for (const std::string& path : spec.paths()) {
    ASSIGN_OR_RETURN(auto bytes, MapBelowRoot(path, options, kCsvPaths));
    files.push_back({std::move(bytes), path});
  }
  return OpenCsv(files, csv);
}

struct NamedPath {
  const char* field;
  std::string path;
};

std::vector<NamedPath> PathsOf(const v1::Dataset& spec) {
  switch (spec.source_case()) {
    case v1::Dataset::kNpy:
      return {{kNpyFeatures, spec.npy().features()}, {kNpyLabels, spec.npy().labels()}};
    case v1::Dataset::kNpz:
      return {{kNpzPath, spec.npz().path()}};
    case v1::Dataset::kIdx:
      return {{kIdxImages, spec.idx().images()}, {kIdxLabels, spec.idx().labels()}};
    case v1::Dataset::kCsv: {
      std::vector<NamedPath> paths;
      for (const std::string& path : spec.csv().paths()) paths.push_back({kCsvPaths, path});
      return paths;
    }
    case v1::Dataset::kSynthetic:
    case v1::Dataset::SOURCE_NOT_SET:
      break;
  }
  return {};
}

}  // namespace

absl::Status CheckDatasetPaths(const v1::Dataset& spec, const std::string& data_root) {
  for (const NamedPath& named : PathsOf(spec))
    RETURN_IF_ERROR(ResolveBelow(data_root, named.path, named.field).status());
  return absl::OkStatus();
}

Result OpenDataset(const v1::Dataset& spec, const OpenOptions& options) {
  switch (spec.source_case()) {
    case v1::Dataset::kSynthetic:
      return OpenSynthetic(spec.synthetic(), options);
    case v1::Dataset::kNpy:
      return OpenNpy(spec.npy(), options);
    case v1::Dataset::kNpz:
      return OpenNpz(spec.npz(), options);
    case v1::Dataset::kIdx:
      return OpenIdx(spec.idx(), options);
    case v1::Dataset::kCsv:
      return OpenCsvFiles(spec.csv(), options);
    case v1::Dataset::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("dataset: one of synthetic, npy, npz, idx and csv is needed");
}

}  // namespace lockstep

#include "model/gradient_finish.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "model/hyperparameter.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

absl::Status CheckClipping(const v1::Optimizer& spec) {
  const int kinds = int{spec.has_clipnorm()} + int{spec.has_clipvalue()} + int{spec.has_global_clipnorm()};
  if (kinds > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "optimizer has ", kinds, " of clipnorm, clipvalue and global_clipnorm: choose at most one"));
  }
  if (spec.has_clipnorm()) return CheckPositive("optimizer.clipnorm", spec.clipnorm());
  if (spec.has_clipvalue()) return CheckPositive("optimizer.clipvalue", spec.clipvalue());
  if (spec.has_global_clipnorm()) return CheckPositive("optimizer.global_clipnorm", spec.global_clipnorm());
  return absl::OkStatus();
}

absl::Status CheckRanges(const std::vector<ParameterRange>& ranges, int64_t total) {
  int64_t end = 0;
  for (const ParameterRange& range : ranges) {
    if (range.offset < end || range.size < 0 || range.size > total - range.offset) {
      return absl::InvalidArgumentError(absl::StrCat("parameter range at ", range.offset, " of size ",
                                                     range.size, " is not within [", end, ", ", total, ")"));
    }
    RETURN_IF_ERROR(CheckNotNegative("l2", range.l2));
    end = range.offset + range.size;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GradientFinisher>> GradientFinisher::Create(const v1::Optimizer& spec,
                                                                           std::vector<ParameterRange> ranges,
                                                                           int64_t total,
                                                                           InstructionSet instruction_set) {
  RETURN_IF_ERROR(CheckClipping(spec));
  RETURN_IF_ERROR(CheckRanges(ranges, total));
  Clipping clipping = Clipping::kNone;
  float limit = 0;
  if (spec.has_clipnorm()) {
    clipping = Clipping::kNormOfEach;
    limit = spec.clipnorm();
  } else if (spec.has_clipvalue()) {
    clipping = Clipping::kValue;
    limit = spec.clipvalue();
  } else if (spec.has_global_clipnorm()) {
    clipping = Clipping::kGlobalNorm;
    limit = spec.global_clipnorm();
  }
  return std::unique_ptr<GradientFinisher>(
      new GradientFinisher(clipping, limit, std::move(ranges), total, GradientKernelsFor(instruction_set)));
}

GradientFinisher::GradientFinisher(Clipping clipping, float limit, std::vector<ParameterRange> ranges,
                                   int64_t total, const GradientKernels& kernels)
    : clipping_(clipping), limit_(limit), ranges_(std::move(ranges)), total_(total), kernels_(kernels) {}

GradientSummary GradientFinisher::Finish(double weight, absl::Span<const float> parameters,
                                         absl::Span<float> gradients) const {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), total_);
  CHECK_EQ(static_cast<int64_t>(gradients.size()), total_);
  std::vector<double> squares;
  squares.reserve(ranges_.size());
  double sum = 0;
  for (const ParameterRange& range : ranges_) {
    squares.push_back(kernels_.finish(static_cast<float>(weight), 2 * range.l2,
                                      parameters.data() + range.offset, gradients.data() + range.offset,
                                      range.size));
    sum += squares.back();
  }
  const GradientSummary summary = {std::isfinite(sum), std::sqrt(sum)};
  if (summary.finite) Clip(squares, summary.norm, gradients);
  return summary;
}

void GradientFinisher::Clip(const std::vector<double>& squares, double norm,
                            absl::Span<float> gradients) const {
  if (clipping_ == Clipping::kNone) return;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const ParameterRange& range = ranges_[i];
    if (clipping_ == Clipping::kValue) {
      kernels_.clamp(limit_, gradients.data() + range.offset, range.size);
    } else {
      LimitNorm(range, clipping_ == Clipping::kGlobalNorm ? norm : std::sqrt(squares[i]), gradients);
    }
  }
}

void GradientFinisher::LimitNorm(const ParameterRange& range, double norm,
                                 absl::Span<float> gradients) const {
  if (norm <= limit_) return;
  kernels_.scale(static_cast<float>(limit_ / norm), gradients.data() + range.offset, range.size);
}

double GradientFinisher::RegularizationLoss(absl::Span<const float> parameters) const {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), total_);
  double loss = 0;
  for (const ParameterRange& range : ranges_) {
    if (range.l2 == 0) continue;
    loss += range.l2 * kernels_.sum_of_squares(parameters.data() + range.offset, range.size);
  }
  return loss;
}

}  // namespace lockstep

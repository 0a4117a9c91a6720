#include "model/layers/dropout.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "proto/model.pb.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<Dropout>> Dropout::Create(std::string name, const Shape& input_shape,
                                                         const v1::Dropout& spec) {
  if (!(spec.rate() >= 0 && spec.rate() < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("rate is ", spec.rate(), ", must be in [0, 1)"));
  }
  LayerInfo info;
  info.name = std::move(name);
  info.kind = "dropout";
  info.input_shape = input_shape;
  info.output_shape = input_shape;
  info.flops_per_row = NumElements(input_shape);
  return std::unique_ptr<Dropout>(new Dropout(std::move(info), spec.rate()));
}

Dropout::Dropout(LayerInfo info, float rate)
    : Layer(std::move(info)), rate_(rate), stream_(Hash64(this->info().name)) {}

bool Dropout::PassesThrough(const PassContext& context) const { return !context.training || rate_ == 0; }

absl::Status Dropout::Prepare(int64_t) { return absl::OkStatus(); }

DropoutMask Dropout::MaskOf(const PassContext& context) const {
  DropoutMask mask;
  mask.rate = rate_;
  mask.seed = context.seed ^ stream_;
  mask.step = context.step;
  mask.first_row = context.first_row;
  return mask;
}

absl::Status Dropout::Forward(const ForwardArgs& args) {
  ApplyDropout(MaskOf(args.context), {args.rows, NumElements(info().input_shape)}, args.input, args.output);
  return absl::OkStatus();
}

absl::Status Dropout::Backward(const BackwardArgs& args) {
  if (args.input_gradient == nullptr) return absl::OkStatus();
  ApplyDropout(MaskOf(args.context), {args.rows, NumElements(info().input_shape)}, args.output_gradient,
               args.input_gradient);
  return absl::OkStatus();
}

}  // namespace lockstep

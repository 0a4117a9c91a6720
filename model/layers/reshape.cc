#include "model/layers/reshape.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kInferred = -1;

absl::Status MismatchError(const Shape& from, const Shape& to) {
  return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeToString(to), " cannot hold the ",
                                                 NumElements(from), " elements of ", ShapeToString(from)));
}

// `shape` with its -1, if it has one, replaced by what makes up the elements of `from`.
absl::StatusOr<Shape> Resolve(const Shape& from, Shape shape) {
  if (shape.empty()) {
    return absl::InvalidArgumentError("shape is missing, for example shape: [28, 28]");
  }
  const auto inferred = std::find(shape.begin(), shape.end(), kInferred);
  const Shape given = shape;
  if (inferred != shape.end()) *inferred = 1;
  if (std::find(shape.begin(), shape.end(), kInferred) != shape.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", ShapeToString(given), " has more than one size of -1"));
  }
  ASSIGN_OR_RETURN(const int64_t others, CheckShape(shape));
  const int64_t elements = NumElements(from);
  if (inferred != shape.end()) *inferred = elements / others;
  if (elements % others != 0 || NumElements(shape) != elements) return MismatchError(from, given);
  return shape;
}

LayerInfo MakeInfo(std::string name, std::string kind, const Shape& input_shape, Shape output_shape) {
  LayerInfo info;
  info.name = std::move(name);
  info.kind = std::move(kind);
  info.input_shape = input_shape;
  info.output_shape = std::move(output_shape);
  return info;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reshape>> Reshape::Create(std::string name, const Shape& input_shape,
                                                         const v1::Reshape& spec) {
  ASSIGN_OR_RETURN(Shape shape, Resolve(input_shape, Shape(spec.shape().begin(), spec.shape().end())));
  return std::unique_ptr<Reshape>(
      new Reshape(MakeInfo(std::move(name), "reshape", input_shape, std::move(shape))));
}

std::unique_ptr<Reshape> Reshape::CreateFlatten(std::string name, const Shape& input_shape) {
  return std::unique_ptr<Reshape>(
      new Reshape(MakeInfo(std::move(name), "flatten", input_shape, {NumElements(input_shape)})));
}

bool Reshape::PassesThrough(const PassContext&) const { return true; }

absl::Status Reshape::Prepare(int64_t) { return absl::OkStatus(); }

absl::Status Reshape::Forward(const ForwardArgs&) { return absl::OkStatus(); }

absl::Status Reshape::Backward(const BackwardArgs&) { return absl::OkStatus(); }

}  // namespace lockstep

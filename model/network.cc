#include "model/network.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "model/kernels/thread_scope.h"
#include "model/layer_factory.h"
#include "model/parameter_layout_builder.h"
#include "proto/model.pb.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<Network>> Network::Create(const v1::Model& spec) {
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Layer>> layers, MakeLayers(spec));
  return std::unique_ptr<Network>(new Network(std::move(layers)));
}

Network::Network(std::vector<std::unique_ptr<Layer>> layers) : values_(layers.size() + 1) {
  for (std::unique_ptr<Layer>& layer : layers) {
    Node node;
    node.layer = std::move(layer);
    nodes_.push_back(std::move(node));
  }
  LayOutParameters();
  const auto lowest =
      std::find_if(nodes_.begin(), nodes_.end(), [this](const Node& node) { return HasParameters(node); });
  lowest_trained_ = static_cast<size_t>(lowest - nodes_.begin());
}

void Network::LayOutParameters() {
  ParameterLayoutBuilder builder;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const LayerInfo& info = node->layer->info();
    node->begin = builder.size();
    for (const ParameterSpec& parameter : info.parameters) {
      node->offsets.push_back(
          builder.Add(absl::StrCat(info.name, "/", parameter.name), parameter.shape, parameter.l2));
    }
    node->end = builder.size();
    node->parameters.resize(info.parameters.size());
    node->gradients.resize(info.parameters.size());
  }
  layout_ = builder.Build();
}

const Shape& Network::input_shape() const { return nodes_.front().layer->info().input_shape; }

const Shape& Network::output_shape() const { return nodes_.back().layer->info().output_shape; }

std::vector<LayerSummary> Network::Summary() const {
  PassContext training;
  training.training = true;
  std::vector<LayerSummary> summary;
  for (const Node& node : nodes_) {
    const LayerInfo& info = node.layer->info();
    LayerSummary layer{info.name, info.kind, info.output_shape, 0, info.flops_per_row, 0};
    for (const ParameterSpec& parameter : info.parameters) layer.parameters += NumElements(parameter.shape);
    if (!node.layer->PassesThrough(training)) {
      const int64_t elements = NumElements(info.output_shape) + info.cache_per_row;
      layer.activation_bytes_per_row = elements * static_cast<int64_t>(sizeof(float));
    }
    summary.push_back(std::move(layer));
  }
  return summary;
}

bool Network::ends_in_softmax() const {
  PassContext inference;
  const auto last = std::find_if(nodes_.rbegin(), nodes_.rend(),
                                 [&](const Node& node) { return !node.layer->PassesThrough(inference); });
  return last != nodes_.rend() && last->layer->info().softmax;
}

void Network::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), layout_.size());
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  for (const Node& node : nodes_) {
    const LayerInfo& info = node.layer->info();
    for (size_t i = 0; i < info.parameters.size(); ++i) {
      const ParameterSpec& spec = info.parameters[i];
      spec.initializer.Fill(seed, absl::StrCat(info.name, "/", spec.name),
                            parameters.subspan(node.offsets[i], NumElements(spec.shape)));
    }
  }
}

absl::Status Network::Prepare(int64_t max_rows, int threads) {
  if (max_rows < 1 || max_rows > kMaxTensorElements || threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("prepare for ", max_rows, " rows and ", threads,
                                                   " threads, rows must be from 1 to ", kMaxTensorElements,
                                                   " and threads at least 1"));
  }
  if (threads_ != 0 && threads != threads_) {
    return absl::FailedPreconditionError(absl::StrCat("the network is prepared for ", threads_,
                                                      " threads, not ", threads, "; create another one"));
  }
  last_pass_.reset();
  PlanArena(max_rows);
  RETURN_IF_ERROR(arena_.Allocate());
  max_rows_ = max_rows;
  threads_ = threads;
  const ThreadScope scope(threads_);
  for (Node& node : nodes_) RETURN_IF_ERROR(node.layer->Prepare(max_rows));
  return absl::OkStatus();
}

// Outputs and caches live from Forward to Backward and have slices of their own. A gradient lives from one
// layer to the one below, so two slices serve all of them by turns.
void Network::PlanArena(int64_t max_rows) {
  PassContext training;
  training.training = true;
  arena_ = Arena(max_rows);
  int64_t largest_gradient = 0;
  int64_t largest_scratch = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.layer->PassesThrough(training)) continue;
    const LayerInfo& info = node.layer->info();
    node.output_slice = arena_.Reserve(NumElements(info.output_shape));
    node.cache_slice = arena_.Reserve(info.cache_per_row);
    if (i > lowest_trained_) largest_gradient = std::max(largest_gradient, NumElements(info.input_shape));
    largest_scratch = std::max(largest_scratch, info.scratch_per_row);
  }
  for (int64_t& slice : gradient_slices_) slice = arena_.Reserve(largest_gradient);
  scratch_slice_ = arena_.Reserve(largest_scratch);
}

absl::Status Network::CheckSize(size_t elements, const char* what) const {
  if (static_cast<int64_t>(elements) == layout_.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " have ", elements, " elements, the layout has ", layout_.size()));
}

absl::StatusOr<const float*> Network::Forward(absl::Span<const float> parameters, const float* features,
                                              int64_t rows, const PassContext& context) {
  if (max_rows_ == 0) return absl::FailedPreconditionError("forward pass before Prepare");
  if (rows < 0 || rows > max_rows_) {
    return absl::InvalidArgumentError(
        absl::StrCat("forward pass of ", rows, " rows, must be from 0 to ", max_rows_));
  }
  RETURN_IF_ERROR(CheckSize(parameters.size(), "parameters"));
  last_pass_.reset();

  const ThreadScope scope(threads_);
  const Pass pass{context, rows};
  values_[0] = features;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    values_[i + 1] = values_[i];
    if (node.layer->PassesThrough(context)) continue;
    values_[i + 1] = arena_.Slice(node.output_slice);
    if (rows > 0) RETURN_IF_ERROR(RunForward(node, parameters.data(), values_[i], pass));
  }
  if (context.training) last_pass_ = pass;
  return values_.back();
}

absl::Status Network::RunForward(Node& node, const float* parameters, const float* input, const Pass& pass) {
  for (size_t i = 0; i < node.offsets.size(); ++i) node.parameters[i] = parameters + node.offsets[i];
  return node.layer->Forward({pass.context, pass.rows, node.parameters, input,
                              arena_.Slice(node.output_slice), arena_.Slice(node.cache_slice)});
}

absl::Status Network::Backward(absl::Span<const float> parameters, const float* output_gradient,
                               absl::Span<float> gradients, GradientSink* sink) {
  if (!last_pass_.has_value())
    return absl::FailedPreconditionError("backward pass without a forward pass in training");
  RETURN_IF_ERROR(CheckSize(parameters.size(), "parameters"));
  RETURN_IF_ERROR(CheckSize(gradients.size(), "gradients"));
  if (last_pass_->rows == 0) {
    std::fill(gradients.begin(), gradients.end(), 0.0f);
    if (sink != nullptr && !gradients.empty()) sink->OnFinal(0, layout_.size());
    return absl::OkStatus();
  }

  const ThreadScope scope(threads_);
  ClearPadding(gradients);
  const float* gradient = output_gradient;
  int turn = 0;
  for (size_t i = nodes_.size(); i-- > lowest_trained_;) {
    const Node& node = nodes_[i];
    if (node.layer->PassesThrough(last_pass_->context)) continue;
    float* const input_gradient = i > lowest_trained_ ? arena_.Slice(gradient_slices_[turn]) : nullptr;
    RETURN_IF_ERROR(RunBackward(i, parameters.data(), gradients.data(), gradient, input_gradient));
    if (sink != nullptr && HasParameters(node)) sink->OnFinal(node.begin, node.end);
    gradient = input_gradient;
    turn = 1 - turn;
  }
  return absl::OkStatus();
}

absl::Status Network::RunBackward(size_t index, const float* parameters, float* gradients,
                                  const float* output_gradient, float* input_gradient) {
  Node& node = nodes_[index];
  for (size_t i = 0; i < node.offsets.size(); ++i) {
    node.parameters[i] = parameters + node.offsets[i];
    node.gradients[i] = gradients + node.offsets[i];
  }
  return node.layer->Backward({last_pass_->context, last_pass_->rows, node.parameters, values_[index],
                               values_[index + 1], arena_.Slice(node.cache_slice), output_gradient,
                               absl::MakeSpan(node.gradients), input_gradient, arena_.Slice(scratch_slice_)});
}

void Network::ClearPadding(absl::Span<float> gradients) const {
  const std::vector<Parameter>& parameters = layout_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t end = parameters[i].offset + parameters[i].size;
    const int64_t next = i + 1 < parameters.size() ? parameters[i + 1].offset : layout_.size();
    std::fill(gradients.begin() + end, gradients.begin() + next, 0.0f);
  }
}

}  // namespace lockstep

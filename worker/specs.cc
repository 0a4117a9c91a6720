#include "worker/specs.h"

namespace lockstep {

v1::Layer Dense(int64_t units, v1::Activation activation) {
  v1::Layer layer;
  layer.mutable_dense()->set_units(units);
  layer.mutable_dense()->set_activation(activation);
  return layer;
}

v1::Layer Activation(v1::Activation function) {
  v1::Layer layer;
  layer.mutable_activation()->set_function(function);
  return layer;
}

v1::Layer Flatten() {
  v1::Layer layer;
  layer.mutable_flatten();
  return layer;
}

v1::Layer Dropout(float rate) {
  v1::Layer layer;
  layer.mutable_dropout()->set_rate(rate);
  return layer;
}

v1::Optimizer Adam(double learning_rate) {
  v1::Optimizer optimizer;
  optimizer.mutable_adam()->mutable_learning_rate()->set_constant(learning_rate);
  return optimizer;
}

v1::Optimizer Sgd(double learning_rate, float momentum) {
  v1::Optimizer optimizer;
  optimizer.mutable_sgd()->mutable_learning_rate()->set_constant(learning_rate);
  optimizer.mutable_sgd()->set_momentum(momentum);
  return optimizer;
}

v1::Loss SparseCategoricalCrossentropy(Outputs outputs) {
  v1::Loss loss;
  loss.mutable_sparse_categorical_crossentropy()->set_from_logits(outputs == Outputs::kLogits);
  return loss;
}

v1::Loss BinaryCrossentropy(Outputs outputs) {
  v1::Loss loss;
  loss.mutable_binary_crossentropy()->set_from_logits(outputs == Outputs::kLogits);
  return loss;
}

v1::Loss MeanSquaredError() {
  v1::Loss loss;
  loss.mutable_mean_squared_error();
  return loss;
}

v1::Compile MakeCompile(const v1::Optimizer& optimizer, const v1::Loss& loss,
                        const std::vector<std::string>& metrics) {
  v1::Compile compile;
  *compile.mutable_optimizer() = optimizer;
  *compile.mutable_loss() = loss;
  for (const std::string& metric : metrics) compile.add_metrics(metric);
  return compile;
}

}  // namespace lockstep

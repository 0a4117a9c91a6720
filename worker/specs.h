// Short ways to write parts of a specification in C++: Dense(32, v1::RELU), Adam(),
// SparseCategoricalCrossentropy(...).
#ifndef LOCKSTEP_WORKER_SPECS_H_
#define LOCKSTEP_WORKER_SPECS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/model.pb.h"

namespace lockstep {

enum class Outputs { kLogits, kProbabilities };

v1::Layer Dense(int64_t units, v1::Activation activation = v1::LINEAR);
v1::Layer Activation(v1::Activation function);
v1::Layer Flatten();
v1::Layer Dropout(float rate);

v1::Optimizer Adam(double learning_rate = 0.001);
v1::Optimizer Sgd(double learning_rate = 0.01, float momentum = 0);

v1::Loss SparseCategoricalCrossentropy(Outputs outputs);
v1::Loss BinaryCrossentropy(Outputs outputs);
v1::Loss MeanSquaredError();

v1::Compile MakeCompile(const v1::Optimizer& optimizer, const v1::Loss& loss,
                        const std::vector<std::string>& metrics = {});

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SPECS_H_

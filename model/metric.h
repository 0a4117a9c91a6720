// What is reported beside the loss. A metric is a quotient of two sums over rows, so that the rows of all
// batches and ranks count alike: numerators and denominators are added up, and divided once.
//
// Names and definitions are Keras's, with one exception: "accuracy" with binary_crossentropy is
// binary_accuracy for any number of outputs. Thread-compatible, immutable.
#ifndef LOCKSTEP_MODEL_METRIC_H_
#define LOCKSTEP_MODEL_METRIC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/labels.h"

namespace lockstep {

namespace v1 {
class Compile;
}  // namespace v1

constexpr int kDefaultTopK = 5;  // Keras's

class Metric {
 public:
  virtual ~Metric() = default;

  // As written in the job: "accuracy" stays "accuracy".
  const std::string& name() const { return name_; }

  // Adds the rows to both sums. `outputs` is [rows, output shape]; `rows` may be 0; the labels are those of
  // the loss.
  virtual void Accumulate(const float* outputs, const Labels& labels, int64_t rows, double* numerator,
                          double* denominator) const = 0;

 protected:
  explicit Metric(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// The metrics of a job in the order written. `output_shape` is that of one row of the network's output.
// Errors: INVALID_ARGUMENT an unknown name (with the list of valid ones), a name written twice, or a metric
// that needs other labels than the loss.
absl::StatusOr<std::vector<std::unique_ptr<Metric>>> CreateMetrics(const v1::Compile& compile,
                                                                   const std::vector<int64_t>& output_shape);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_METRIC_H_

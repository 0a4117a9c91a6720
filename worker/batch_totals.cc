#include "worker/batch_totals.h"

namespace lockstep {
namespace {

Labels LabelsOf(const Batch& batch) {
  Labels labels;
  if (batch.classes.size() > 0) labels.classes = batch.classes.data();
  if (batch.values.size() > 0) labels.values = batch.values.data();
  return labels;
}

}  // namespace

void AddBatch(const Replica& replica, const Batch& batch, const float* outputs, float* output_gradient,
              StepTotals* totals) {
  const Labels labels = LabelsOf(batch);
  totals->weight() += static_cast<double>(batch.rows);
  totals->loss_sum() += replica.loss().SumAndGradient(outputs, labels, batch.rows, output_gradient);
  for (size_t i = 0; i < replica.metrics().size(); ++i) {
    replica.metrics()[i]->Accumulate(outputs, labels, batch.rows, &totals->numerator(i),
                                     &totals->denominator(i));
  }
}

}  // namespace lockstep

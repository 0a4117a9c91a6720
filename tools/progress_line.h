// The lines that show training, in the form that Keras users know.
#ifndef LOCKSTEP_TOOLS_PROGRESS_LINE_H_
#define LOCKSTEP_TOOLS_PROGRESS_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

namespace v1 {
class EpochEnd;
class FitBegin;
class Progress;
}  // namespace v1

// "global batch 128 = 64+64 over 2 ranks" and the sizes of the job.
std::string FitBeginLine(const v1::FitBegin& begin);

// "  312/469 [=============>......] - ETA 1s - loss: 0.4312 - accuracy: 0.8467 - 58213 rows/s", shorter than
// `width` columns: first the bar gives way, then the end of the line.
std::string ProgressLine(const v1::Progress& progress, int width);

// "469/469 [====================] - 8s 17ms/step - loss: 0.3561 - val_loss: 0.3892 - 57311 rows/s". All
// metrics, however wide.
std::string EpochEndLine(const v1::EpochEnd& end, int width);

// The same for logs: "Epoch 2/5 - 8s 17ms/step - loss: 0.3561 - ...".
std::string EpochLogLine(const v1::EpochEnd& end);

// As in Keras: four decimals, or an exponent for what they would not show.
std::string MetricText(double value);

// "64+64"; of many ranks, runs of equal shares: "16 x 33 + 4 x 32".
std::string SharesText(const std::vector<int64_t>& shares);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_PROGRESS_LINE_H_

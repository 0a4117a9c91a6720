// A job for people: one line that is rewritten at every step on a terminal, one line per epoch in a log; at
// the end how it went and where the time was spent.
#ifndef LOCKSTEP_TOOLS_PROGRESS_VIEW_H_
#define LOCKSTEP_TOOLS_PROGRESS_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/event_view.h"

namespace lockstep {

namespace v1 {
class EpochEnd;
class FitBegin;
class JobSummary;
class Progress;
class StateChange;
}  // namespace v1

class ProgressView : public EventView {
 public:
  struct Options {
    bool terminal = false;  // lines can be rewritten
    int width = 80;         // columns
  };

  explicit ProgressView(const Options& options);
  ~ProgressView() override;

  std::string Show(const v1::JobEvent& event) override;
  std::string Close() override;

 private:
  std::string ShowState(const v1::StateChange& state);
  std::string ShowProgress(const v1::Progress& progress);
  std::string ShowEpochEnd(const v1::EpochEnd& end);
  std::string ShowEnd(const v1::StateChange& state) const;
  std::string EpochHead(int64_t epoch, int64_t epochs);
  // `text` on lines of its own, below the line that was being rewritten.
  std::string Below(const std::string& text);

  const Options options_;
  int64_t epochs_ = 0;
  int64_t headed_epoch_ = 0;  // whose "Epoch 2/5" was printed
  int64_t ended_epoch_ = 0;
  bool line_is_open_ = false;
  std::unique_ptr<v1::JobSummary> summary_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_PROGRESS_VIEW_H_

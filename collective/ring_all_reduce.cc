#include "collective/ring_all_reduce.h"

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/ring_schedule.h"

namespace lockstep {
namespace {

// Each segment runs through all steps of the schedule on its own, and a window of segments is under way at
// once. A new one starts when one has finished its way round.
class RingAllReducer {
 public:
  RingAllReducer(const ReduceBuffers& buffers, Exchange* exchange)
      : cut_(buffers, exchange->world_size(), exchange->options().segment_bytes),
        schedule_(exchange->rank(), exchange->world_size()),
        window_(exchange->options().window),
        exchange_(exchange) {}

  // Waiting for steps in the order in which they were posted makes all ranks send in the same order, which is
  // also the order in which the next rank waits: nobody waits for a message behind one it does not take.
  absl::Status Run() {
    RETURN_IF_ERROR(exchange_->CheckNumSegments(cut_.num_segments()));
    int64_t next_segment = 0;
    while (true) {
      while (under_way_.size() < window_ && next_segment < cut_.num_segments()) {
        under_way_.push_back(std::make_unique<Segment>(next_segment++, schedule_.num_steps()));
        RETURN_IF_ERROR(Post(under_way_.back().get()));
      }
      if (under_way_.empty()) return absl::OkStatus();
      std::unique_ptr<Segment> segment = std::move(under_way_.front());
      under_way_.pop_front();
      RETURN_IF_ERROR(WaitReceived(segment.get()));
      if (++segment->step < schedule_.num_steps()) {
        // The list keeps the segment's completions alive until the transport has let go of them.
        under_way_.push_back(std::move(segment));
        RETURN_IF_ERROR(Post(under_way_.back().get()));
      } else {
        RETURN_IF_ERROR(WaitAllSent(segment.get()));
      }
    }
  }

 private:
  struct Segment {
    Segment(int64_t index, int num_steps)
        : index(index), sends(new Completion[num_steps]), receives(new Completion[num_steps]) {}
    const int64_t index;
    int step = 0;
    std::unique_ptr<Completion[]> sends;
    std::unique_ptr<Completion[]> receives;
  };

  absl::Status Post(Segment* segment) {
    const RingSchedule::Step step = schedule_.step(segment->step);
    if (step.mode == ReceiveMode::kOverwrite) {
      RETURN_IF_ERROR(WaitSent(segment, schedule_.StepOfReplacedSend(segment->step)));
    }
    const ReduceBuffers to = cut_.Segment(step.receive_chunk, segment->index);
    if (SizeBytes(to) > 0) {
      exchange_->Receive(From(segment), step.mode, {to.doubles, to.floats, {}},
                         &segment->receives[segment->step]);
    }
    const ReduceBuffers from = cut_.Segment(step.send_chunk, segment->index);
    if (SizeBytes(from) > 0) {
      exchange_->Send(To(segment, segment->step), {from.doubles, from.floats, {}},
                      &segment->sends[segment->step]);
    }
    return absl::OkStatus();
  }

  absl::Status WaitReceived(Segment* segment) {
    const size_t bytes = SizeBytes(cut_.Segment(schedule_.step(segment->step).receive_chunk, segment->index));
    if (bytes == 0) return absl::OkStatus();
    return exchange_->WaitReceived(From(segment), bytes, &segment->receives[segment->step]);
  }

  absl::Status WaitSent(Segment* segment, int step) {
    if (SizeBytes(cut_.Segment(schedule_.step(step).send_chunk, segment->index)) == 0)
      return absl::OkStatus();
    return exchange_->WaitSent(To(segment, step), &segment->sends[step]);
  }

  // The sends of the first half were waited for when their chunks came back.
  absl::Status WaitAllSent(Segment* segment) {
    for (int step = schedule_.num_steps() / 2; step < schedule_.num_steps(); ++step) {
      RETURN_IF_ERROR(WaitSent(segment, step));
    }
    return absl::OkStatus();
  }

  MessagePosition From(const Segment* segment) const {
    return {schedule_.prev(), segment->step, segment->index};
  }
  MessagePosition To(const Segment* segment, int step) const {
    return {schedule_.next(), step, segment->index};
  }

  const ChunkedBuffers cut_;
  const RingSchedule schedule_;
  const size_t window_;
  Exchange* const exchange_;
  std::deque<std::unique_ptr<Segment>> under_way_;
};

}  // namespace

absl::Status RingAllReduce(const ReduceBuffers& buffers, Exchange* exchange) {
  if (exchange->world_size() == 1) return absl::OkStatus();
  return RingAllReducer(buffers, exchange).Run();
}

}  // namespace lockstep

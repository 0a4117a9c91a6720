// The chief's end of the control stream to one worker.
#ifndef LOCKSTEP_WORKER_MEMBER_LINK_H_
#define LOCKSTEP_WORKER_MEMBER_LINK_H_

#include "absl/status/status.h"

namespace lockstep {

namespace v1 {
class ChiefMessage;
}  // namespace v1

class MemberLink {
 public:
  virtual ~MemberLink() = default;
  // Queues the message; one that cannot be delivered any more is dropped. Does not block.
  virtual void Send(const v1::ChiefMessage& message) = 0;
  // Ends the stream.
  virtual void Close(const absl::Status& why) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_MEMBER_LINK_H_

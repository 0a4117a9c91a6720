// The events of one job as a daemon sends them: one Watch call.
#ifndef LOCKSTEP_TOOLS_WATCH_STREAM_H_
#define LOCKSTEP_TOOLS_WATCH_STREAM_H_

#include <memory>

#include "absl/status/status.h"

namespace grpc {
class ClientContext;
template <class Message>
class ClientReader;
}  // namespace grpc

namespace lockstep {

namespace v1 {
class JobEvent;
}  // namespace v1

// Next and Finish are for one thread; Cancel may be called from any.
class WatchStream {
 public:
  WatchStream(std::unique_ptr<grpc::ClientContext> context,
              std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader);
  // Finish must have been called.
  ~WatchStream();

  // Waits for the next event. False: there is none any more.
  bool Next(v1::JobEvent* event);

  // Why there are no more events; OK: the job has ended. Call once, after Next returned false.
  absl::Status Finish();

  // Next returns false soon.
  void Cancel();

 private:
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_WATCH_STREAM_H_

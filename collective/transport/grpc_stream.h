// One call of Collective.Exchange, seen from either end, and what is under way on it.
//
// Each operation ends with an event on the completion queue, whose tag is a GrpcStream::Tag. The fields are
// guarded by the lock of the service that owns the stream; Write alone may be called without it (a large
// write copies megabytes into the kernel), by the thread that has set write_in_flight.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_STREAM_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_STREAM_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/transport/grpc_exchange_service.h"

namespace lockstep {

class GrpcGroup;

class GrpcStream {
 public:
  enum class Event { kStarted, kRead, kWritten, kFinished };
  struct Tag {
    GrpcStream* stream;
    Event event;
  };

  virtual ~GrpcStream() = default;
  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  virtual bool is_client() const = 0;
  // Of a started stream: over a unix-domain socket.
  bool IsLocal() const;

  // Reads one frame into read_buffer.
  void Read();
  // Writes one frame. The caller has called BeginWrite before.
  void Write(const grpc::ByteBuffer& frame);
  // Writes a frame that is this end's last.
  void WriteLast(const std::string& frame);
  // A client asks for the status of the call, a server sets it.
  void Finish(const absl::Status& status);
  // Ends the call at once; everything under way ends with an event soon.
  virtual void Cancel() = 0;
  // Of a client after kFinished.
  virtual absl::Status finish_status() const = 0;

  void BeginWrite() {
    write_in_flight = true;
    ++pending;
  }
  // Notes that the event's operation is over.
  void OnEvent(Event event);
  // Whether nothing is under way and nothing can follow.
  bool over() const { return finished && pending == 0; }

  grpc::ByteBuffer read_buffer;
  int pending = 0;  // events to come
  bool started = false;
  bool read_in_flight = false;
  bool write_in_flight = false;
  bool eof = false;           // no frame will follow
  bool write_broken = false;  // a write has failed
  bool finish_started = false;
  bool finished = false;

  std::string hello;     // to be written first
  bool closing = false;  // this end leaves: what still arrives is dropped
  std::string farewell;  // to be written last
  bool farewell_sent = false;
  bool farewell_received = false;
  absl::Time deadline = absl::InfiniteFuture();  // when the stream is refused or cancelled

  GrpcGroup* group = nullptr;  // null: its hello has not come, or its group is not there yet
  int peer = -1;

 protected:
  GrpcStream() = default;

  Tag* Begin(Tag* tag);

  virtual std::string PeerUri() const = 0;
  virtual void StartRead(void* tag) = 0;
  virtual void StartWrite(const grpc::ByteBuffer& frame, void* tag) = 0;
  virtual void StartWriteLast(const grpc::ByteBuffer& frame, void* tag) = 0;
  virtual void StartFinish(const absl::Status& status, void* tag) = 0;

  Tag started_tag_{this, Event::kStarted};
  Tag read_tag_{this, Event::kRead};
  Tag written_tag_{this, Event::kWritten};
  Tag finished_tag_{this, Event::kFinished};
};

// Calls the peer behind `stub`: kStarted follows.
std::unique_ptr<GrpcStream> OpenGrpcStream(grpc::GenericStub* stub, grpc::CompletionQueue* queue);

// Waits for the next call of a peer: kStarted follows when it is there, or when the server shuts down.
std::unique_ptr<GrpcStream> AcceptGrpcStream(GrpcExchangeService* service,
                                             grpc::ServerCompletionQueue* queue);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_STREAM_H_

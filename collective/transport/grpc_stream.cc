#include "collective/transport/grpc_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include "absl/strings/match.h"

namespace lockstep {
namespace {

constexpr char kMethod[] = "/lockstep.v1.Collective/Exchange";

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

class ClientStream : public GrpcStream {
 public:
  ClientStream(grpc::GenericStub* stub, grpc::CompletionQueue* queue)
      : call_(stub->PrepareCall(&context_, kMethod, queue)) {
    call_->StartCall(Begin(&started_tag_));
  }

  bool is_client() const override { return true; }
  void Cancel() override { context_.TryCancel(); }
  absl::Status finish_status() const override { return FromGrpc(status_); }

 private:
  std::string PeerUri() const override { return context_.peer(); }
  void StartRead(void* tag) override { call_->Read(&read_buffer, tag); }
  void StartWrite(const grpc::ByteBuffer& frame, void* tag) override { call_->Write(frame, tag); }
  void StartWriteLast(const grpc::ByteBuffer& frame, void* tag) override {
    call_->WriteLast(frame, grpc::WriteOptions(), tag);
  }
  void StartFinish(const absl::Status&, void* tag) override { call_->Finish(&status_, tag); }

  grpc::ClientContext context_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class ServerStream : public GrpcStream {
 public:
  ServerStream(GrpcExchangeService* service, grpc::ServerCompletionQueue* queue) : call_(&context_) {
    service->RequestExchange(&context_, &call_, queue, queue, Begin(&started_tag_));
  }

  bool is_client() const override { return false; }
  void Cancel() override { context_.TryCancel(); }
  absl::Status finish_status() const override { return absl::OkStatus(); }

 private:
  std::string PeerUri() const override { return context_.peer(); }
  void StartRead(void* tag) override { call_.Read(&read_buffer, tag); }
  void StartWrite(const grpc::ByteBuffer& frame, void* tag) override { call_.Write(frame, tag); }
  void StartWriteLast(const grpc::ByteBuffer& frame, void* tag) override { call_.Write(frame, tag); }
  void StartFinish(const absl::Status& status, void* tag) override { call_.Finish(ToGrpc(status), tag); }

  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> call_;
};

}  // namespace

GrpcStream::Tag* GrpcStream::Begin(Tag* tag) {
  // BeginWrite has counted a write before.
  if (tag != &written_tag_) ++pending;
  return tag;
}

bool GrpcStream::IsLocal() const { return absl::StartsWith(PeerUri(), "unix"); }

void GrpcStream::Read() {
  read_in_flight = true;
  StartRead(Begin(&read_tag_));
}

void GrpcStream::Write(const grpc::ByteBuffer& frame) { StartWrite(frame, Begin(&written_tag_)); }

void GrpcStream::WriteLast(const std::string& frame) {
  BeginWrite();
  const grpc::Slice slice(frame);
  StartWriteLast(grpc::ByteBuffer(&slice, 1), Begin(&written_tag_));
}

void GrpcStream::Finish(const absl::Status& status) {
  finish_started = true;
  StartFinish(status, Begin(&finished_tag_));
}

void GrpcStream::OnEvent(Event event) {
  --pending;
  if (event == Event::kRead) read_in_flight = false;
  if (event == Event::kWritten) write_in_flight = false;
  if (event == Event::kFinished) finished = true;
}

std::unique_ptr<GrpcStream> OpenGrpcStream(grpc::GenericStub* stub, grpc::CompletionQueue* queue) {
  return std::make_unique<ClientStream>(stub, queue);
}

std::unique_ptr<GrpcStream> AcceptGrpcStream(GrpcExchangeService* service,
                                             grpc::ServerCompletionQueue* queue) {
  return std::make_unique<ServerStream>(service, queue);
}

}  // namespace lockstep

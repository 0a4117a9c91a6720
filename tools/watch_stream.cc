#include "tools/watch_stream.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "proto/trainer.grpc.pb.h"
#include "worker/rpc_status.h"

namespace lockstep {

WatchStream::WatchStream(std::unique_ptr<grpc::ClientContext> context,
                         std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader)
    : context_(std::move(context)), reader_(std::move(reader)) {}

WatchStream::~WatchStream() = default;

bool WatchStream::Next(v1::JobEvent* event) { return reader_->Read(event); }

absl::Status WatchStream::Finish() { return FromGrpcStatus(reader_->Finish()); }

void WatchStream::Cancel() { context_->TryCancel(); }

}  // namespace lockstep

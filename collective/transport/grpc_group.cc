#include "collective/transport/grpc_group.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "collective/peer_lost.h"
#include "collective/transport/transport_errors.h"

namespace lockstep {
namespace {

// The slices of a frame, kept alive, as runs of bytes.
struct FrameBytes {
  std::vector<grpc::Slice> slices;
  std::vector<absl::string_view> runs;
};

std::shared_ptr<FrameBytes> TakeFrame(grpc::ByteBuffer* buffer) {
  auto frame = std::make_shared<FrameBytes>();
  // Only references are copied; fails for compressed buffers alone, which nobody sends: no runs, no frame.
  if (buffer->Dump(&frame->slices).ok()) {
    for (const grpc::Slice& slice : frame->slices) {
      frame->runs.emplace_back(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  buffer->Clear();
  return frame;
}

FramePayload PayloadOf(const ParsedFrame& parsed, std::shared_ptr<const FrameBytes> frame) {
  FramePayload payload;
  payload.size_bytes = parsed.payload_bytes;
  size_t skip = parsed.payload_begin;
  for (absl::string_view run : frame->runs) {
    const size_t skipped = std::min(skip, run.size());
    skip -= skipped;
    if (skipped < run.size()) payload.runs.push_back(run.substr(skipped));
  }
  payload.owner = std::move(frame);
  return payload;
}

// Whether calling again could help.
bool IsPermanent(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition ||
         status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace

GrpcGroup::GrpcGroup(GrpcGroupHost* host, const GroupOptions& options, int connection)
    : host_(host),
      mutex_(host->mutex()),
      options_(options),
      connection_(connection),
      id_(IdOfConnection({options.job, options.generation}, connection)) {
  for (int rank = 0; rank < world_size(); ++rank)
    peers_.emplace_back(rank, options_.addresses[rank], host->options());
}

GrpcGroup::~GrpcGroup() {
  {
    MutexLock lock(mutex_);
    EndLocked(absl::CancelledError("the transport was destroyed"), absl::OkStatus());
    // Ends: each stream of an ended group has a deadline.
    mutex_->Await(Condition(this, &GrpcGroup::NoStreamsLocked));
    mutex_->Await(Condition(this, &GrpcGroup::NoReceivesLocked));
    host_->ForgetLocked(this);
  }
  ledger_.AwaitNone();
}

void GrpcGroup::Send(int peer_rank, uint64_t tag, const SendParts& parts, Completion* completion) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return completion->Finish(status_);
  if (absl::Status status = CheckOperation(rank(), peer_rank, world_size(), tag, false); !status.ok()) {
    return completion->Finish(status);
  }
  Peer* peer = &peers_[peer_rank];
  if (peer->left) {
    EndLocked(LeftStatus(*peer), LeftStatus(*peer));
    return completion->Finish(status_);
  }
  if (peer->outbox.size() >= host_->options().max_queued_sends) {
    return completion->Finish(absl::ResourceExhaustedError(
        absl::StrCat(peer->outbox.size(), " sends to rank ", peer_rank, " are queued already")));
  }
  for (const GrpcOutgoingMessage* message : peer->outbox) {
    if (message->tag() == tag)
      return completion->Finish(CheckOperation(rank(), peer_rank, world_size(), tag, true));
  }
  peer->outbox.push_back(
      new GrpcOutgoingMessage(id_, tag, parts, host_->options().frame_bytes, completion, &ledger_));
  WriteDataLocked(peer);
}

void GrpcGroup::Receive(int peer_rank, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
                        Completion* completion) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return completion->Finish(status_);
  absl::Status status = CheckOperation(rank(), peer_rank, world_size(), tag, false);
  if (!status.ok()) return completion->Finish(status);
  Peer* peer = &peers_[peer_rank];
  status = peer->inbox.Post(tag, mode, parts, completion);
  if (!status.ok()) {
    if (status.code() != absl::StatusCode::kAlreadyExists) EndLocked(status, status);
    return completion->Finish(status);
  }
  if (peer->left && peer->inbox.AwaitsFrames()) return EndLocked(LeftStatus(*peer), LeftStatus(*peer));
  ConsumeLocked(peer, tag);
  ReadOnLocked(peer);
}

void GrpcGroup::Abort(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    EndLocked(status, status);
    mutex_->Await(Condition(this, &GrpcGroup::NoReceivesLocked));
  }
  // Ends: what is in flight is cancelled after close_grace.
  ledger_.AwaitNone();
}

absl::Status GrpcGroup::status() const {
  MutexLock lock(mutex_);
  return status_;
}

Path GrpcGroup::PathTo(int peer) const {
  MutexLock lock(mutex_);
  return peers_[peer].local ? Path::kUnixSocket : Path::kTcp;
}

absl::Status GrpcGroup::Form(absl::Time deadline) {
  MutexLock lock(mutex_);
  while (status_.ok() && !Formed()) {
    if (absl::Now() >= deadline) {
      const absl::Status missing = MissingPeersLocked();
      EndLocked(missing, missing);
      break;
    }
    const absl::Time next_attempt = CallMissingPeersLocked();
    changed_ = false;
    mutex_->AwaitWithDeadline(Condition(this, &GrpcGroup::ChangedLocked), std::min(deadline, next_attempt));
  }
  forming_ = false;
  return status_;
}

bool GrpcGroup::Formed() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [this](const Peer& peer) { return peer.rank == rank() || peer.connected; });
}

// Returns when the next call is due.
absl::Time GrpcGroup::CallMissingPeersLocked() {
  const absl::Time now = absl::Now();
  absl::Time next = absl::InfiniteFuture();
  for (int lower = 0; lower < rank(); ++lower) {
    Peer& peer = peers_[lower];
    if (peer.stream != nullptr) continue;
    if (peer.next_attempt > now) {
      next = std::min(next, peer.next_attempt);
      continue;
    }
    peer.stream = host_->OpenStreamLocked(peer.address, connection_);
    peer.stream->group = this;
    peer.stream->peer = lower;
    peer.stream->hello = EncodeHello(id_, HelloTo(lower));
    ++num_streams_;
  }
  return next;
}

absl::Status GrpcGroup::MissingPeersLocked() const {
  std::vector<std::string> missing;
  for (const Peer& peer : peers_) {
    if (peer.rank == rank() || peer.connected) continue;
    missing.push_back(absl::StrCat("rank ", peer.rank, " (", peer.address, "): ", peer.last_cause));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "generation ", id_.generation, " of job ", absl::Hex(id_.job), " is not complete, missing ",
      missing.size(), " of ", world_size(), " ranks: ", absl::StrJoin(missing, "; ")));
}

absl::Status GrpcGroup::CheckHello(const HelloFrame& hello) const {
  if (hello.world_size != world_size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", hello.rank, " has a world of ", hello.world_size, " ranks, rank ", rank(),
                     " of ", world_size(), ": they were started with different cluster descriptions"));
  }
  if (hello.peer_rank != rank()) {
    return absl::FailedPreconditionError(absl::StrCat("rank ", hello.rank, " wants to talk to rank ",
                                                      hello.peer_rank, ", but this is rank ", rank()));
  }
  return absl::OkStatus();
}

absl::Status GrpcGroup::AdoptLocked(GrpcStream* stream, const HelloFrame& hello) {
  if (!status_.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("generation ", id_.generation, " has ended: ", status_.message()));
  }
  if (absl::Status status = CheckHello(hello); !status.ok()) return status;
  if (hello.rank <= rank() || hello.rank >= world_size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", hello.rank, " has no business to call rank ", rank(), " of ", world_size()));
  }
  Peer& peer = peers_[hello.rank];
  if (peer.stream != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("rank ", hello.rank, " is connected already"));
  }
  peer.stream = stream;
  peer.connected = true;
  peer.local = stream->IsLocal();
  stream->group = this;
  stream->peer = hello.rank;
  stream->hello = EncodeHello(id_, HelloTo(hello.rank));
  ++num_streams_;
  changed_ = true;
  host_->SetDeadlineLocked(stream, absl::InfiniteFuture());
  ProgressLocked(stream);
  return absl::OkStatus();
}

void GrpcGroup::EndLocked(const absl::Status& status, const absl::Status& farewell) {
  if (!status_.ok()) return;
  status_ = status;
  changed_ = true;
  for (Peer& peer : peers_) {
    peer.inbox.Fail(status);
    ReleaseOutboxLocked(&peer);
    GrpcStream* stream = peer.stream;
    if (stream == nullptr || stream->closing) continue;
    stream->closing = true;
    if (peer.connected) {
      stream->farewell = EncodeFarewell(id_, farewell);
      host_->SetDeadlineLocked(stream, absl::Now() + host_->options().close_grace);
      if (!stream->read_in_flight && !stream->eof) stream->Read();  // what is left is dropped
      ProgressLocked(stream);
    } else {
      stream->Cancel();
    }
  }
}

bool GrpcGroup::NoReceivesLocked() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [](const Peer& peer) { return peer.inbox.HasReceives(); });
}

absl::Status GrpcGroup::LeftStatus(const Peer& peer) const {
  return MakePeerLostStatus(peer.rank, peer.address, "it left the group");
}

bool GrpcGroup::IsCurrentLocked(const GrpcStream* stream) const {
  return peers_[stream->peer].stream == stream;
}

void GrpcGroup::OnStartedLocked(GrpcStream* stream, bool ok) {
  const bool detour = ok && stream->is_client() && !stream->IsLocal() &&
                      host_->IsReachedLocally(peers_[stream->peer].address);
  if (detour) {
    // The peer began to listen while it was being called. Its socket comes before its port; it has not been
    // told who calls.
    stream->eof = true;
    stream->Cancel();
  } else if (!ok) {
    stream->eof = true;
  } else {
    stream->started = true;
    stream->Read();
  }
  ProgressLocked(stream);
}

void GrpcGroup::OnReadLocked(GrpcStream* stream, bool ok) {
  Peer* peer = &peers_[stream->peer];
  if (!ok) {
    stream->eof = true;
    // A client learns the cause from the status of the call.
    if (!stream->is_client() && IsCurrentLocked(stream)) OnBrokenLocked(peer, absl::OkStatus());
    return ProgressLocked(stream);
  }
  std::shared_ptr<FrameBytes> frame = TakeFrame(&stream->read_buffer);
  // Before anything is added, so that the next frame travels meanwhile.
  if (stream->closing || !peer->inbox.full()) stream->Read();
  if (!IsCurrentLocked(stream) || stream->farewell_received) return;
  const absl::StatusOr<ParsedFrame> parsed = ParseFrame(frame->runs);
  if (!parsed.ok()) {
    const absl::Status status =
        WithContext(parsed.status(), absl::StrCat("from rank ", peer->rank, " (", peer->address, ")"));
    return EndLocked(status, status);
  }
  FramePayload payload;
  if (parsed->kind == ParsedFrame::Kind::kData) payload = PayloadOf(*parsed, std::move(frame));
  OnFrameLocked(peer, stream, *parsed, std::move(payload));
}

void GrpcGroup::OnFrameLocked(Peer* peer, GrpcStream* stream, const ParsedFrame& frame,
                              FramePayload payload) {
  absl::Status status;
  if (!(frame.group == id_)) {
    status = absl::FailedPreconditionError(
        absl::StrCat("rank ", peer->rank, " (", peer->address, ") sent a frame of generation ",
                     frame.group.generation, " of job ", absl::Hex(frame.group.job), " in generation ",
                     id_.generation, " of job ", absl::Hex(id_.job)));
  } else if (frame.kind == ParsedFrame::Kind::kFarewell) {
    return OnFarewellLocked(peer, stream, frame.farewell);
  } else if (frame.kind == ParsedFrame::Kind::kHello) {
    status = peer->connected ? absl::DataLossError(absl::StrCat("rank ", peer->rank, " said hello twice"))
                             : CheckHello(frame.hello);
    if (status.ok() && frame.hello.rank != peer->rank) {
      status = absl::FailedPreconditionError(
          absl::StrCat(peer->address, " is rank ", frame.hello.rank, ", not rank ", peer->rank));
    }
    if (status.ok()) {
      peer->connected = true;
      peer->local = stream->IsLocal();
      changed_ = true;
      return;
    }
  } else if (!stream->closing) {
    status = peer->connected
                 ? peer->inbox.OnFrame(frame.data, std::move(payload))
                 : absl::DataLossError(absl::StrCat("rank ", peer->rank, " sent data before hello"));
    if (status.ok()) return ConsumeLocked(peer, frame.data.tag);
  }
  if (!status.ok()) EndLocked(status, status);
}

void GrpcGroup::OnFarewellLocked(Peer* peer, GrpcStream* stream, const absl::Status& cause) {
  stream->farewell_received = true;
  host_->SetDeadlineLocked(stream, std::min(stream->deadline, absl::Now() + host_->options().close_grace));
  if (!cause.ok()) {
    const absl::Status status = EndedByPeerStatus(peer->rank, peer->address, cause);
    return EndLocked(status, status);
  }
  peer->left = true;
  // What it sent before was received in order; a last message to it may still be in flight.
  const bool last_in_flight = peer->outbox.size() == 1 && peer->outbox.front()->complete();
  const bool sends = !peer->outbox.empty() && !last_in_flight;
  if (sends || peer->inbox.AwaitsFrames() || forming_) EndLocked(LeftStatus(*peer), LeftStatus(*peer));
}

void GrpcGroup::OnWrittenLocked(GrpcStream* stream, bool ok) {
  Peer* peer = &peers_[stream->peer];
  if (!ok) {
    stream->write_broken = true;
    // Also while the inbox is full: the end of the stream is the next thing to learn.
    if (!stream->read_in_flight && !stream->eof) stream->Read();
  }
  if (IsCurrentLocked(stream) && !peer->outbox.empty() && !peer->outbox.front()->untouched()) {
    GrpcOutgoingMessage* message = peer->outbox.front();
    if (!status_.ok() || (ok && message->complete())) {
      peer->outbox.pop_front();
      message->Release(status_);
    } else if (!ok && peer->left) {
      EndLocked(LeftStatus(*peer), LeftStatus(*peer));
    }
    // Else, if it has failed, the end of the stream is near and tells why.
  }
  ProgressLocked(stream);
}

void GrpcGroup::OnFinishedLocked(GrpcStream* stream) {
  if (stream->is_client() && IsCurrentLocked(stream)) {
    OnBrokenLocked(&peers_[stream->peer], stream->finish_status());
  }
  if (IsCurrentLocked(stream)) peers_[stream->peer].stream = nullptr;
}

// The stream to `peer` has ended. `cause`, if not OK, tells more.
void GrpcGroup::OnBrokenLocked(Peer* peer, const absl::Status& cause) {
  GrpcStream* stream = peer->stream;
  if (stream->closing || stream->farewell_received) return;
  const std::string detail = cause.ok() ? "its connection broke" : std::string(cause.message());
  if (!forming_) {
    const absl::Status lost = MakePeerLostStatus(peer->rank, peer->address, detail);
    return EndLocked(lost, lost);
  }
  // Not all are there yet: it may come again.
  peer->stream = nullptr;
  peer->connected = false;
  peer->last_cause = detail;
  peer->next_attempt = absl::Now() + host_->options().retry_interval;
  changed_ = true;
  if (IsPermanent(cause)) {
    const absl::Status refused = absl::Status(
        cause.code(), absl::StrCat("rank ", peer->rank, " (", peer->address, ") refuses: ", cause.message()));
    EndLocked(refused, refused);
  }
}

void GrpcGroup::ConsumeLocked(Peer* peer, uint64_t tag) {
  while (Inbox::PostedReceive* receive = peer->inbox.BeginConsume(tag)) {
    mutex_->Unlock();
    receive->ConsumeTaken();
    mutex_->Lock();
    peer->inbox.EndConsume(tag);
  }
}

void GrpcGroup::ReadOnLocked(Peer* peer) {
  GrpcStream* stream = peer->stream;
  if (stream == nullptr || !stream->started || stream->read_in_flight || stream->eof || peer->inbox.full())
    return;
  stream->Read();
}

void GrpcGroup::ProgressLocked(GrpcStream* stream) {
  if (stream->finish_started || stream->write_in_flight) return;
  if (stream->eof) return stream->Finish(absl::OkStatus());
  if (!stream->started || stream->write_broken) return;
  if (!stream->hello.empty()) {
    const grpc::Slice hello(stream->hello);
    stream->hello.clear();
    stream->BeginWrite();
    return stream->Write(grpc::ByteBuffer(&hello, 1));
  }
  if (!stream->closing) {
    if (IsCurrentLocked(stream)) WriteDataLocked(&peers_[stream->peer]);
    return;
  }
  if (!stream->farewell_sent) {
    stream->farewell_sent = true;
    return stream->WriteLast(stream->farewell);
  }
  if (!stream->is_client()) stream->Finish(absl::OkStatus());
}

void GrpcGroup::WriteDataLocked(Peer* peer) {
  GrpcStream* stream = peer->stream;
  if (peer->outbox.empty() || !peer->connected || stream == nullptr || stream->write_in_flight ||
      stream->write_broken || stream->closing || stream->eof || !stream->hello.empty()) {
    return;
  }
  grpc::ByteBuffer frame;
  peer->outbox.front()->NextFrame(&frame);
  stream->BeginWrite();
  // gRPC may write to the socket in this thread, which takes as long as copying the payload does.
  mutex_->Unlock();
  stream->Write(frame);
  frame.Clear();
  mutex_->Lock();
}

void GrpcGroup::ReleaseOutboxLocked(Peer* peer) {
  const bool in_flight = peer->stream != nullptr && peer->stream->write_in_flight && !peer->outbox.empty() &&
                         !peer->outbox.front()->untouched();
  while (peer->outbox.size() > (in_flight ? 1u : 0u)) {
    peer->outbox.back()->Release(status_);
    peer->outbox.pop_back();
  }
}

}  // namespace lockstep

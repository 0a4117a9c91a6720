// Collective operations of one group: every rank calls the same operations in the same order.
//
//   all-reduce    ring: reduce-scatter, then all-gather. 2(n-1) hops; each rank sends 2(n-1)/n of the bytes.
//                 Patarasuk & Yuan 2009. Mesh: the same in 2 hops, directly between all ranks. One hop: each
//                 rank sends all. Chunk c is always summed in ring order beginning with rank c+1, so that the
//                 result has the same bits on all ranks, in every run, whichever it is.
//   broadcast     along the ring, segments pipelined: n-1 hops; each rank sends the bytes at most once. Few
//                 segments among many ranks along a binomial tree: ceil(log2 n) hops.
//   all-gather    ring. n-1 hops; each rank sends (n-1)/n of the result.
//   barrier       an all-reduce of nothing but a token.
//
// That is how it is done by messages. Ranks of one host that can share memory do it there
// (shared_memory/shared_memory_backend.h), with the same bits.
//
// What StartAllReduce starts is run by a thread of the communicator's own, in order, while the caller
// computes. Every other call runs in the caller's thread, unless something is under way that it has to wait
// for. The first error ends the group: every later call returns it, and the contents of buffers under way are
// unspecified. An error names the rank, the operation and the segment waited for.
//
// Thread-compatible, except Abort, which any thread may call.
#ifndef LOCKSTEP_COLLECTIVE_COMMUNICATOR_H_
#define LOCKSTEP_COLLECTIVE_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collective/transport/transport.h"

namespace lockstep {

// How an all-reduce is done. The result has the same bits whichever it is.
enum class Algorithm {
  kAuto,    // by what each takes, measured when the group forms (cost_model.h)
  kRing,    // ring_all_reduce.h
  kMesh,    // mesh_all_reduce.h
  kOneHop,  // one_hop_all_reduce.h
};

// Whether ranks on one host exchange through memory that they share.
enum class SharedMemoryUse {
  kNever,
  kAuto,  // if all ranks are on one host and can share memory; otherwise by messages, silently
};

// How floats travel in an all-reduce. Unless kNone, the result is
//   rounded(sum over the ranks of rounded(x)), summed in single precision and in the order of every other
//   sum,
// so that it has the same bits on all ranks, by every algorithm but the ring, and in shared memory too.
enum class Compression {
  kNone,
  kBfloat16,  // half.h
  kFloat16,
};

struct CommunicatorOptions {
  Algorithm algorithm = Algorithm::kAuto;
  SharedMemoryUse shared_memory = SharedMemoryUse::kNever;
  // host_of_rank[r] names the host of rank r, by any number, in the same way on all ranks. If several hosts
  // have several ranks, kAuto sums within each host first (hierarchical_backend.h). Empty: not known.
  std::vector<int> host_of_rank;
  // Of floats. Not with kRing: it passes partial sums on, which are not rounded.
  Compression compression = Compression::kNone;
  // A chunk travels in segments of at most this many bytes, so that receiving, adding and sending overlap.
  // 1 MiB was the best message size over TCP (docs/performance.md).
  size_t segment_bytes = size_t{1} << 20;
  // Segments of one operation that are under way at once, so that one is added while another travels. A rank
  // that is ahead has so many waiting at a slower one, and no other flow control is needed. 1, 2 and 4 were
  // measured alike; 8 and more were slower, because the receiver's memory grew.
  int window = 2;
  // kAuto measures each algorithm at most so many times per size. One is enough where nothing disturbs.
  int most_cost_measurements = 8;
  // How long to wait for a peer that is alive but does not arrive.
  absl::Duration timeout = absl::Seconds(600);
  // After this long without progress a warning names what is waited for, again and again until the end.
  absl::Duration stall_warning = absl::Seconds(30);
};

// What an all-reduce sums in place: doubles, which travel in front of the floats. Either may be empty.
struct ReduceBuffers {
  absl::Span<double> doubles;
  absl::Span<float> floats;
};

// Memory that an all-reduce may read and write in place on all ranks. It outlives its communicator. After an
// error of the group its contents must not be used again, nor anything be put there: a rank that was frozen
// may still store into it when it wakes.
class CollectiveBuffer {
 public:
  virtual ~CollectiveBuffer() = default;
  virtual absl::Span<std::byte> bytes() const = 0;  // aligned as AlignedBytes is; zero at first

  absl::Span<float> floats() const {
    return absl::MakeSpan(reinterpret_cast<float*>(bytes().data()), bytes().size() / sizeof(float));
  }
};

// Since the start of the group.
struct CommunicatorStats {
  absl::Duration busy;     // time in which at least one operation was under way
  absl::Duration exposed;  // time in which a caller waited for one
  int64_t bytes_sent = 0;
  int64_t operations = 0;
};

// Of one rank in an all-gather.
constexpr uint64_t kMostGatheredBytes = uint64_t{1} << 30;

class Communicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(std::unique_ptr<Transport> transport,
                                                              CommunicatorOptions options);
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Hands the buffers over to be summed over all ranks and returns at once. They belong to the communicator
  // until WaitAll.
  virtual void StartAllReduce(const ReduceBuffers& buffers) = 0;
  // Waits for everything that was started.
  virtual absl::Status WaitAll() = 0;

  // Memory from which an all-reduce is fastest: every rank calls it with the same size. An all-reduce takes
  // floats in such memory on all ranks, or on none.
  // Errors: as any operation; a size that cannot be shared is given as private memory.
  virtual absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes) = 0;

  // StartAllReduce and WaitAll.
  virtual absl::Status AllReduce(const ReduceBuffers& buffers) = 0;
  // Overwrites `bytes` (of the same size on all ranks) with the root's.
  virtual absl::Status Broadcast(int root, absl::Span<std::byte> bytes) = 0;
  // all[r] = rank r's `mine`; sizes may differ from rank to rank, each at most kMostGatheredBytes.
  virtual absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view mine) = 0;
  // Returns when every rank has called it.
  virtual absl::Status Barrier() = 0;

  // Ends everything under way and everything later with `status`.
  virtual void Abort(const absl::Status& status) = 0;

  virtual CommunicatorStats stats() const = 0;

  // "shared memory", or why not: "messages: rank 2 is on another host". By hosts: "messages between 2 hosts,
  // shared memory within".
  virtual std::string medium() const = 0;

  // paths()[r] is how this rank and rank r exchange, as the letter of a Path.
  virtual std::string paths() const = 0;

  // What kAuto does by messages: "one hop, mesh from 181 KiB". Empty if there is no choice.
  virtual std::string algorithms() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_COMMUNICATOR_H_

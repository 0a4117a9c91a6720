// Where the bytes of one message go: stores or adds a stream of bytes, given in runs that are cut anywhere,
// to the parts of a Receive. Nothing is copied to align it: loads are unaligned, and only an element that a
// cut divides is put together in a few bytes of its own.
// Thread-compatible.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_PARTS_SINK_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_PARTS_SINK_H_

#include <cstddef>

#include "collective/transport/transport.h"

namespace lockstep {

class PartsSink {
 public:
  PartsSink(ReceiveMode mode, const ReceiveParts& parts) : mode_(mode), parts_(parts) {}

  size_t size_bytes() const { return parts_.size_bytes(); }
  size_t position() const { return position_; }
  size_t remaining() const { return size_bytes() - position_; }

  // Takes the next `size` bytes of the message; size <= remaining().
  void Consume(const void* data, size_t size);

 private:
  template <typename T>
  void ConsumePart(absl::Span<T> part, size_t part_begin, const char** data, size_t* size);
  template <typename T>
  void Add(absl::Span<T> part, size_t offset, const char* data, size_t size);

  const ReceiveMode mode_;
  const ReceiveParts parts_;
  size_t position_ = 0;
  char carry_[8];  // the first bytes of an element whose last ones are still to come
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_PARTS_SINK_H_

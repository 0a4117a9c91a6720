// What must hold for any message that a user has written, whatever it means.
#ifndef LOCKSTEP_WORKER_MESSAGE_CHECK_H_
#define LOCKSTEP_WORKER_MESSAGE_CHECK_H_

#include "absl/status/status.h"

namespace google {
namespace protobuf {
class Message;
}  // namespace protobuf
}  // namespace google

namespace lockstep {

// Numbers are finite, enumerations have one of their values (proto3 accepts any number), texts are UTF-8
// without control characters other than tab. INVALID_ARGUMENT naming the field by its path: "data.train.shard
// is 9, choose one of AUTO, DATA, FILE, OFF".
absl::Status CheckWellFormed(const google::protobuf::Message& message);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_MESSAGE_CHECK_H_

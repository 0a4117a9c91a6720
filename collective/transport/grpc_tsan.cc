// Tells the thread sanitizer what gRPC's completion queues order: whatever is done before an operation is
// started happens before whatever is done once its tag comes out of the queue.
//
// Why: Debian's gRPC is not instrumented, so the sanitizer does not see that edge, while it does see both
// sides of it: our code, and the inline code of gRPC's headers, which keeps the state of each call there.
// These definitions stand before those of the library; the callback API goes through them too.
// Outside of sanitizer builds the file is empty. Linked into the program itself.
#include "base/mutex.h"

#ifdef LOCKSTEP_TSAN
#include <dlfcn.h>
#include <grpc/grpc.h>

namespace {

template <typename Function>
Function* Original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

grpc_event TakeOverTag(const grpc_event& event) {
  if (event.type == GRPC_OP_COMPLETE) lockstep::TakeOver(event.tag);
  return event;
}

}  // namespace

extern "C" {

// The last hop of a call, from the thread that saw its last operation end to the one that calls OnDone, goes
// through a queue inside the library that no definition of ours can stand before. Hides what OnDone does.
const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() { return "race:ServerCallback*::CallOnDone\n"; }

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t num_ops, void* tag,
                                      void* reserved) {
  static auto* const original = Original<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  lockstep::HandOver(tag);
  return original(call, ops, num_ops, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const original = Original<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  return TakeOverTag(original(queue, deadline, reserved));
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                                       void* reserved) {
  static auto* const original =
      Original<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  return TakeOverTag(original(queue, tag, deadline, reserved));
}

grpc_call_error grpc_server_request_call(grpc_server* server, grpc_call** call, grpc_call_details* details,
                                         grpc_metadata_array* metadata, grpc_completion_queue* bound_queue,
                                         grpc_completion_queue* notification_queue, void* tag) {
  static auto* const original = Original<decltype(grpc_server_request_call)>("grpc_server_request_call");
  lockstep::HandOver(tag);
  return original(server, call, details, metadata, bound_queue, notification_queue, tag);
}

grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* method, grpc_call** call,
                                                    gpr_timespec* deadline, grpc_metadata_array* metadata,
                                                    grpc_byte_buffer** payload,
                                                    grpc_completion_queue* bound_queue,
                                                    grpc_completion_queue* notification_queue, void* tag) {
  static auto* const original =
      Original<decltype(grpc_server_request_registered_call)>("grpc_server_request_registered_call");
  lockstep::HandOver(tag);
  return original(server, method, call, deadline, metadata, payload, bound_queue, notification_queue, tag);
}

}  // extern "C"
#endif

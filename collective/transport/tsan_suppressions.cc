// What the thread sanitizer must not report. gRPC hands each operation's CallOpSet from the thread that
// starts it to the thread that polls the completion queue; Debian's gRPC is not instrumented, so the
// sanitizer does not see the edge, but it does see the accesses, which are inline functions of gRPC's
// headers. Our own data goes along with the tag, for which HandOver and TakeOver stand.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:grpc::internal::CallOpSet\n"; }
#endif

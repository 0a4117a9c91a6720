// Sets the number of OpenMP threads that oneDNN uses, as long as the object lives, for the calling thread.
#ifndef LOCKSTEP_MODEL_KERNELS_THREAD_SCOPE_H_
#define LOCKSTEP_MODEL_KERNELS_THREAD_SCOPE_H_

namespace lockstep {

class ThreadScope {
 public:
  // `threads` is at least 1. Costs two writes to a thread-local variable.
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int previous_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_THREAD_SCOPE_H_

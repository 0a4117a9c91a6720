// Sets the number of OpenMP threads that oneDNN uses, as long as the object lives, for the calling thread.
//
// OpenMP's threads spin while they wait for each other. With more runnable threads than processors (several
// ranks on a machine, or other work) a program should start with OMP_WAIT_POLICY=passive in its environment:
// a step of a 784-512-512-10 network on two threads of a busy machine took 1.6 ms with it, 58 ms without.
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

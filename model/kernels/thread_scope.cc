#include "model/kernels/thread_scope.h"

// OpenMP's own declarations: <omp.h> belongs to a compiler, and clang's comes with another run-time library
// than the one oneDNN is linked with.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads(void);
}

namespace lockstep {

ThreadScope::ThreadScope(int threads) : previous_(omp_get_max_threads()) { omp_set_num_threads(threads); }

ThreadScope::~ThreadScope() { omp_set_num_threads(previous_); }

}  // namespace lockstep

// Compiled for AVX2 and FMA.
#include "model/update_kernels.h"
#include "model/update_kernels_simd.h"

namespace lockstep {

extern constexpr UpdateKernels kUpdateKernelsAvx2 = MakeUpdateKernels<Avx2>();

}  // namespace lockstep

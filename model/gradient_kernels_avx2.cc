// Compiled for AVX2 and FMA.
#include "model/gradient_kernels.h"
#include "model/gradient_kernels_simd.h"

namespace lockstep {

extern constexpr GradientKernels kGradientKernelsAvx2 = MakeGradientKernels<Avx2>();

}  // namespace lockstep

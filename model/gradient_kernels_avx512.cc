// Compiled for AVX-512 (F, BW, DQ, VL, CD).
#ifndef __clang__
// GCC 12 takes the deliberately undefined operand in its own AVX-512 headers for a mistake (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "model/gradient_kernels.h"
#include "model/gradient_kernels_simd.h"

namespace lockstep {

extern constexpr GradientKernels kGradientKernelsAvx512 = MakeGradientKernels<Avx512>();

}  // namespace lockstep

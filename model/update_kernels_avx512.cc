// Compiled for AVX-512 (F, BW, DQ, VL, CD).
#ifndef __clang__
// GCC 12 takes the deliberately undefined operand in its own AVX-512 headers for a mistake (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "model/update_kernels.h"
#include "model/update_kernels_simd.h"

namespace lockstep {

extern constexpr UpdateKernels kUpdateKernelsAvx512 = MakeUpdateKernels<Avx512>();

}  // namespace lockstep

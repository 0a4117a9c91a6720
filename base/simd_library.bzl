"""Kernels that are compiled once per instruction set."""

# xsimd's templates and helper functions are inline: two compilations would emit the same symbol with
# different instructions, and the linker would keep either. So each compilation renames the namespace.
_INSTRUCTION_SETS = {
    "avx2": [
        "-mavx2",
        "-mfma",
        "-mf16c",
        "-Dxsimd=xsimd_avx2",
        "-DLOCKSTEP_SIMD=avx2",
    ],
    "avx512": [
        "-mavx2",
        "-mfma",
        "-mf16c",
        "-mavx512f",
        "-mavx512bw",
        "-mavx512cd",
        "-mavx512dq",
        "-mavx512vl",
        "-mprefer-vector-width=512",
        "-Dxsimd=xsimd_avx512",
        "-DLOCKSTEP_SIMD=avx512",
        # gcc 12 takes the undefined registers of its own avx512fintrin.h for a mistake (GCC bug 105593).
        # clang does not know the first of the two warnings.
        "-Wno-unknown-warning-option",
        "-Wno-maybe-uninitialized",
        "-Wno-uninitialized",
    ],
}

def simd_library(name, srcs, hdrs, deps = [], **kwargs):
    """Compiles srcs for AVX2+FMA and for AVX-512, as NAME_avx2 and NAME_avx512, and links both as NAME.

    Args:
      name: of the cc_library.
      srcs: sources whose functions are in namespace lockstep::LOCKSTEP_SIMD. They must not use functions
        that other sources could share with them: nothing of the standard library but types and intrinsics.
        NAME_symbols_test checks the objects.
      hdrs: declare the functions in both namespaces.
      deps: of all of them.
      **kwargs: of the cc_library NAME.
    """
    for instruction_set, copts in _INSTRUCTION_SETS.items():
        native.cc_library(
            name = name + "_" + instruction_set,
            srcs = srcs,
            hdrs = hdrs,
            copts = copts + ["-O3"],
            linkstatic = True,
            deps = deps + ["//base:simd"],
        )
    native.cc_library(
        name = name,
        hdrs = hdrs,
        deps = deps + [":" + name + "_" + instruction_set for instruction_set in _INSTRUCTION_SETS],
        **kwargs
    )
    objects = [":" + name + "_" + instruction_set for instruction_set in _INSTRUCTION_SETS]
    native.sh_test(
        name = name + "_symbols_test",
        size = "small",
        srcs = ["//base:simd_symbols_test.sh"],
        args = ["$(locations %s)" % target for target in objects],
        data = objects,
    )

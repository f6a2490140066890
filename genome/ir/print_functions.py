"""CUDA device functions and what OpenCL C calls them."""

from __future__ import annotations

from collections.abc import Mapping

from genome.ir.halves import FUNCTIONS as HALF_FUNCTIONS

_SINGLE = """sqrt rsqrt exp exp2 exp10 expm1 log log2 log10 log1p pow sin cos tan sinh cosh tanh asin acos atan atan2
asinh acosh atanh erf erfc fabs fmax fmin floor ceil round trunc rint fma fmod hypot cbrt copysign fdim remainder
tgamma lgamma sinpi cospi ldexp nextafter"""

MATH: Mapping[str, str] = {f"{name}f": name for name in _SINGLE.split()}
"""Single-precision functions -> the OpenCL function that takes floats."""

FAST: Mapping[str, str] = {
    "__expf": "exp", "__logf": "log", "__log2f": "log2", "__log10f": "log10", "__sinf": "sin", "__cosf": "cos",
    "__tanf": "tan", "__powf": "pow", "__exp10f": "exp10", "__fsqrt_rn": "sqrt", "__frsqrt_rn": "rsqrt",
    "__fmaf_rn": "fma", "nearbyintf": "rint", "fmaf": "fma",
}  # fmt: skip
"""CUDA intrinsics -> the precise OpenCL function (an intrinsic may be no less precise on another device)."""

RENAMED: Mapping[str, str] = {
    "__popc": "popcount", "__popcll": "popcount", "__clz": "clz", "__clzll": "clz", "__mul24": "mul24",
    "__umul24": "mul24", "__mulhi": "mul_hi", "__umulhi": "mul_hi", "__int_as_float": "as_float",
    "__uint_as_float": "as_float", "__float_as_int": "as_int", "__float_as_uint": "as_uint",
    "__float2int_rn": "convert_int_rte", "__float2int_rz": "convert_int_rtz", "__float2int_rd": "convert_int_rtn",
    "__float2int_ru": "convert_int_rtp", "__int2float_rn": "convert_float_rte", "__uint2float_rn": "convert_float_rte",
    "__float2uint_rn": "convert_uint_rte", "__float2uint_rz": "convert_uint_rtz", "__usad": "abs_diff",
    "lrintf": "convert_long_rte", "lrint": "convert_long_rte",
}  # fmt: skip
"""Functions with another name in OpenCL C and the same meaning."""

BINARY: Mapping[str, str] = {
    "__fdividef": "/", "__fdiv_rn": "/", "__fadd_rn": "+", "__fsub_rn": "-", "__fmul_rn": "*", "__dadd_rn": "+",
    "__dmul_rn": "*",
}  # fmt: skip
"""Functions of two arguments that are an operator in OpenCL C."""

ATOMICS: Mapping[str, str] = {
    "atomicAdd": "add", "atomicSub": "sub", "atomicMax": "max", "atomicMin": "min", "atomicAnd": "and",
    "atomicOr": "or", "atomicXor": "xor", "atomicExch": "xchg", "atomicCAS": "cmpxchg", "atomicInc": "",
}  # fmt: skip
"""CUDA atomics -> the suffix of OpenCL's 32-bit ``atomic_`` function ("" where there is none)."""

BARRIERS = frozenset({"__syncthreads"})
"""Plain block barriers."""

CUDA_ONLY = frozenset(
    [
        "__shfl_sync",
        "__shfl_down_sync",
        "__shfl_up_sync",
        "__shfl_xor_sync",
        "__shfl",
        "__shfl_down",
        "__shfl_up",
        "__shfl_xor",
        "__ballot_sync",
        "__any_sync",
        "__all_sync",
        "__activemask",
        "__reduce_add_sync",
        "__reduce_min_sync",
        "__reduce_max_sync",
        "__reduce_and_sync",
        "__reduce_or_sync",
        "__reduce_xor_sync",
        "__any",
        "__all",
        "__ballot",
        "__syncwarp",
        "__match_any_sync",
        "__syncthreads_or",
        "__syncthreads_and",
        "__syncthreads_count",
        "clock",
        "clock64",
        "__nanosleep",
    ]
)
"""Functions that have no OpenCL C 1.2 counterpart."""

BLOCK_WIDE = frozenset({"__syncthreads_or", "__syncthreads_and", "__syncthreads_count"})
"""Functions at which all threads of a block meet."""

LOADS = frozenset({"__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu"})
"""Functions that read what their argument points to, with a hint for a cache; ``__ldcv`` reads as through volatile."""

OUTPUTS: Mapping[str, str] = {
    "sincosf": "sincos", "sincos": "sincos", "__sincosf": "sincos", "modff": "modf", "modf": "modf",
    "frexpf": "frexp", "frexp": "frexp",
}  # fmt: skip
"""Functions that write results through the pointers which they are given -> what OpenCL C calls them."""

PURE = frozenset({*MATH, *MATH.values(), *FAST, *RENAMED, *BINARY, "min", "max", "abs", "isnan", "isinf", "isfinite",
                  "__saturatef", "__frcp_rn", "normcdff", "rnorm3df", "fdividef", "labs", "llabs", "signbit",
                  "umin", "umax", "fminf", "fmaxf", "j0f", "j1f", "lroundf", "lround",
                  *HALF_FUNCTIONS})  # fmt: skip
"""Functions whose value depends on their arguments alone and that change nothing."""

"""What is printed for 16-bit floats: conversions that C++ makes unsaid, wide accesses, and what OpenCL C cannot say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Cast, Index, Var
from genome.ir.print_errors import PrintError
from genome.ir.print_helpers import helper_signatures
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Assign
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.source.opening import open_kernel
from genome.source.verbatim import as_text
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role, dtype_of
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

HEAD = """#include <cuda_bf16.h>
__device__ float lift(float v) { return v * 2.0f; }
__device__ __nv_bfloat16 lower(const __nv_bfloat16 v) { return -v; }
"""
PARAMS = "const __nv_bfloat16* x, __nv_bfloat16* y, float* f, int n"


def source(statement: str, params: str = PARAMS) -> str:
    return f"""{HEAD}
__global__ void k({params}) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{ {statement} }}
}}"""


def printed(statement: str, target: Target, params: str = PARAMS) -> str:
    return print_kernel(parse_kernel(source(statement, params), "k"), target)


@pytest.mark.parametrize(
    ("statement", "cuda", "opencl"),
    [
        ("y[i] = f[i];", "y[i] = (__nv_bfloat16)f[i];", "y[i] = evo_float2bfloat16(f[i]);"),
        ("f[i] = x[i];", "f[i] = (float)x[i];", "f[i] = evo_float(x[i]);"),
        ("y[i] += f[i];", "y[i] += (__nv_bfloat16)f[i];", "y[i] = evo_hadd(y[i], evo_float2bfloat16(f[i]));"),
        ("y[i] = x[i] * y[i];", "y[i] = x[i] * y[i];", "y[i] = evo_hmul(x[i], y[i]);"),
        ("y[i] = i;", "y[i] = (__nv_bfloat16)i;", "y[i] = evo_double2bfloat16(i);"),
        ("y[i] = 0;", "y[i] = (__nv_bfloat16)0;", "y[i] = evo_float2bfloat16(0);"),
        ("f[i] = lift(x[i]);", "f[i] = lift((float)x[i]);", "f[i] = lift(evo_float(x[i]));"),
        ("y[i] = lift(f[i]);", "y[i] = (__nv_bfloat16)lift(f[i]);", "y[i] = evo_float2bfloat16(lift(f[i]));"),
        ("f[i] = lower(f[i]);", "f[i] = (float)lower((__nv_bfloat16)f[i]);",
         "f[i] = evo_float(lower(evo_float2bfloat16(f[i])));"),
        ("if (x[i]) f[i] = sqrtf(x[i]);", "if (x[i])", "f[i] = sqrt(evo_float(x[i]));"),
        ("if (x[i] < y[i] && !x[i]) f[i] = 1;", "x[i] < y[i] && !x[i]",
         "if (evo_float(x[i]) < evo_float(y[i]) && !(evo_float(x[i]) != 0.0f)) {"),
    ],
)  # fmt: skip
def test_conversions_and_operators(statement: str, cuda: str, opencl: str) -> None:
    assert cuda in printed(statement, Target.CUDA)
    assert opencl in printed(statement, Target.OPENCL)


@pytest.mark.parametrize(
    ("statement", "params", "message"),
    [
        ("y[i] = x[i];", "const __nv_bfloat162* x, __nv_bfloat162* y, int n", "__nv_bfloat162 has no counterpart"),
        ("y[i] = x[i];", "const half2* x, half2* y, int n", "half2 has no counterpart"),
        ("atomicAdd(&y[0], x[i]);", PARAMS, "atomicAdd of __nv_bfloat16 has no counterpart"),
        ("long long z = n; y[i] = (__nv_bfloat16)(z * z);", PARAMS, "long long to __nv_bfloat16 has no exact"),
    ],
)
def test_what_opencl_cannot_say_is_named(statement: str, params: str, message: str) -> None:
    assert "y" in printed(statement, Target.CUDA, params)
    with pytest.raises(PrintError, match=message):
        printed(statement, Target.OPENCL, params)


def test_operators_that_cuda_lacks_are_not_made_up() -> None:
    kernel = parse_kernel(source("y[i] = x[i];"), "k")
    element = Index("x", (Var("i"),))
    for value in (Binary("+", element, Index("f", (Var("i"),))), Binary("%", element, element)):
        wrong = replace(kernel, body=(Assign(Index("y", (Var("i"),)), Cast("__nv_bfloat16", value)),))
        with pytest.raises(PrintError, match="is no operator of CUDA's 16-bit floats"):
            print_kernel(wrong, Target.OPENCL)


def test_text_with_unsaid_conversions_is_not_translated() -> None:
    text = as_text(open_kernel(source("y[i] = f[i];"), "k", "k.cu", (), (), ()))
    assert "y[i] = f[i];" in print_kernel(text, Target.CUDA)
    with pytest.raises(PrintError, match="OpenCL C has no __nv_bfloat16"):
        print_kernel(text, Target.OPENCL)


def test_signatures_of_helpers() -> None:
    text = (
        HEAD
        + """
template <class T> __device__ T twice(T v) { return v + v; }
__device__ float over(float v) { return v; }
__device__ float over(int v) { return 1.0f; }
static __forceinline__ __device__ void put(float* to, unsigned v) { *to = v; }
struct Pair { float a; };
"""
    )
    assert dict(helper_signatures(text)) == {
        "lift": ("float", "float"), "lower": ("__nv_bfloat16", "__nv_bfloat16"), "put": ("", "", "unsigned int"),
    }  # fmt: skip


@pytest.mark.parametrize("ctype", ["__half", "half", "__nv_bfloat16", "nv_bfloat16"])
@pytest.mark.parametrize(("width", "word"), [(2, "unsigned int"), (4, "uint2"), (8, "uint4"), (16, "")])
def test_wide_accesses_move_words(ctype: str, width: int, word: str) -> None:
    n = SizeExpr("n")
    dtype = dtype_of(ctype)
    assert dtype in ("float16", "bfloat16")
    spec = KernelSpec(
        "k", source("y[i] = x[i] + x[i];", f"const {ctype}* x, {ctype}* y, int n"), "k",
        (ArgSpec("x", dtype, Role.IN, (n,)), ArgSpec("y", dtype, Role.OUT, (n,)), ArgSpec("n", "int32", value=n)),
        LaunchSpec((64, 1, 1), domain=(n,)), (ProblemSize((("n", 4096),)),),
        assumptions=Assumptions(no_alias=True, alignment=64),
    )  # fmt: skip
    genes = [Gene.of("coarsen_blocked", Site("i"), factor=16), Gene.of("register_tile", Site("instances"))]
    genes += [Gene.of("vectorise", Site(array), width=width) for array in "xy"]
    found = lower(spec, Genome(tuple(genes)), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(found, Variant)
    if not word:
        assert {outcome.reason for outcome in found.skipped} == {"16-bit floats move at most 8 at a time"}
        return
    assert f"const {word} wide = *(const {word}*)&x[" in found.source
    assert f"*({word}*)&y[" in found.source
    assert dict(found.guard.alignments) == {"x": 2 * width, "y": 2 * width}

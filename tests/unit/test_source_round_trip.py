"""A kernel parsed and printed back: the compiler makes the same PTX of it as of the text."""

from __future__ import annotations

import re

import pytest

from evaluator.cuda.compile import language_options
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from genome.ir.print_source import print_kernel
from genome.source.opening import open_kernel
from genome.source.round_trip import round_trip
from genome.source.verbatim import as_text
from genome.variant import Target

HELPERS = """
struct Box { float lo, hi; __device__ float span() const { return hi - lo; } };
enum Mode { NEAR = 2, FAR };
template <typename T, int N> __device__ T sum(const T* x) { T s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; }
__device__ void bump(float& x) { x += 1; }
"""
BODIES = [
    "auto box = Box{x[0], x[1]}; y[t] = box.span();",
    "float s = sum<float, 8 / 2>(x + t); y[t] = static_cast<int>(s) % FAR;",
    "if (t >= n) return; for (int i = t; i < n; i += blockDim.x) { if (x[i] < 0) continue; y[i] = sqrtf(x[i]); }",
    "float v = x[t]; bump(v); float& r = y[t]; r = v;",
    "const float4 q = reinterpret_cast<const float4*>(x)[t]; y[t] = q.x + q.w;",
    "auto twice = [&](float v) { return v * 2; }; y[t] = twice(x[t]);",
    "constexpr int W = 4; float w[W] = {}; for (int i = 0; i < W; ++i) w[i] = x[i] - -1; y[t] = w[3];",
    "int i = 0; do { y[t] += x[i]; } while (++i < n); switch (n) { case 1: y[t] = 0; break; default: y[t]++; }",
    'unsigned m; asm volatile("mov.u32 %0, %%laneid;" : "=r"(m)); y[t] = m;',
    "__shared__ float tile[32][33]; tile[t][0] = x[t]; __syncthreads(); y[t] = tile[31 - t][0];",
    "extern __shared__ float pool[]; pool[t] = x[t]; if (n) if (t) y[t] = pool[0]; else y[t] = pool[1];",
]


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    try:
        return Nvrtc()
    except NvrtcMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("body", BODIES)
def test_same_ptx(nvrtc: Nvrtc, body: str) -> None:
    source = f"{HELPERS}__global__ void k(const float* x, float* y, int n) {{ const int t = threadIdx.x; {body} }}"
    opened = open_kernel(source, "k", "k.cu", (), (), ())
    written, back = (
        nvrtc.ptx(print_kernel(kernel, Target.CUDA), "kernel.cu", ("-arch=compute_80", *language_options()))
        for kernel in (as_text(opened), round_trip(opened, "k.cu"))
    )
    assert written.ok and back.ok, written.log + back.log
    first, second = (re.sub(rb"//[^\n]*", b"", result.cubin) for result in (written, back))
    assert b".entry k(" in first and first == second

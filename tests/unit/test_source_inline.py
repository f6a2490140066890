"""Helpers in place of their calls: what the parsed form computes against the user's own text, executed."""

from __future__ import annotations

import numpy as np
import pytest

from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Barrier, Opaque, flatten
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

HELPERS = """
__device__ float pick(const float* row, int j, int n) {
    if (j < 0) return 0.5f;
    if (j >= n) { return 1.5f; }
    return row[j];
}
__device__ void extremes(const float* row, int n, float* low, float* high) {
    *low = row[0]; high[0] = row[0];
    for (int j = 1; j < n; j++) { float v = row[j]; if (v < *low) *low = v; if (v > *high) *high = v; }
}
__device__ float both(const float* row, int n) { float a, b; extremes(row + 1, n - 1, &a, &b); return a + 2.0f * b; }
__device__ int clipped(int v, int most) { v = v < 0 ? 0 : v; most -= 1; if (v > most) v = most; return v; }
__device__ float total(float v, float* tmp, int t) {
    tmp[t] = v;
    __syncthreads();
    for (int s = 16; s > 0; s /= 2) { if (t < s) tmp[t] += tmp[t + s]; __syncthreads(); }
    return tmp[0];
}
__device__ void scale(float* y, int i, float by) { y += i; *y = *y * by; }
__device__ float step(float* seed) { *seed = *seed * 1.5f + 1.0f; return *seed; }
template <typename T> __device__ void swap(T& a, T& b) { T c = a; a = b; b = c; }
template <typename T, typename U> __device__ T plus(T a, const U* b, int j) { return a + b[j]; }
__device__ float early(const float* x, int n) { for (int j = 0; j < n; j++) if (x[j] > 0) return x[j]; return 0; }
__device__ int again(int* p, int n) { return n < 1 ? *p : again(p, n - 1); }
"""
X = np.random.default_rng(0).standard_normal(96).astype(np.float32)
PUT_IN = {
    "values in two branches": "y[i] = pick(x + 3, i - 5, 40) + pick(x, i, n);",
    "names of the kernel stay": "int v = clipped(i - 7, 20); int most = v + 1; y[v] = x[most];",
    "a barrier inside": "__shared__ float tmp[32]; y[i] = total(x[i], tmp, threadIdx.x);",
    "a pointer that moves": "y[i] = x[i]; scale(y, i, 2.5f);",
    "a variable from call to call":
        "float seed = x[i]; float a = step(&seed); float b = step(&seed); y[i] = a + 2.0f * b + seed;",
    "in a loop": "float s = 0.0f; for (int j = 0; j < 5; j++) { s += pick(x, i + j, n); } y[i] = s;",
    "in a condition": "if (pick(x, i, n) > 0.0f) y[i] = 1.0f; else y[i] = 2.0f;",
    "evaluated at every turn": "y[i] = 0; for (int j = 0; j < 5.0f + pick(x, j, n); j++) y[i] += j;",
    "left from inside of a loop": "y[i] = early(x + i, 4);",
}  # fmt: skip
STAY = {
    "not always evaluated": "y[i] = i < 9 ? pick(x, i, n) : 0.0f;",
    "an order that C leaves open": "float seed = x[i]; y[i] = seed + step(&seed);",
    "calls of itself": "int u = i; y[i] = again(&u, 2);",
    "a pointer that is chosen": "y[i] = pick(i < 5 ? x : y, 0, n);",
}  # fmt: skip


def text(body: str) -> str:
    return f"""{HELPERS}
        __global__ void k(const float* x, float* y, int n) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"""


def run(kernel: Kernel) -> np.ndarray:
    cl = pytest.importorskip("pyopencl")
    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL device")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    y = np.full(96, 7, np.float32)
    buffers = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=array) for array in (X, y)]
    program = cl.Program(context, print_kernel(kernel, Target.OPENCL)).build(cache_dir=False)
    program.k(queue, (64,), (32,), *buffers, np.int32(64))
    cl.enqueue_copy(queue, y, buffers[1])
    return y


@pytest.mark.parametrize("case", PUT_IN)
def test_the_helper_in_place_computes_what_the_call_does(case: str) -> None:
    source = text(PUT_IN[case])
    parsed = parse_kernel(source, "k")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(parsed.body))
    np.testing.assert_allclose(run(parsed), run(verbatim_kernel(source, "k")), rtol=1e-6)


@pytest.mark.parametrize("body, low, high, weight", [
    ("float low, high; extremes(&x[i], 4, &low, &high); y[i] = low + 3.0f * high;", 0, 4, 3),
    ("y[i] = both(x + i, 5);", 1, 5, 2),
])  # fmt: skip
def test_results_behind_pointers(body: str, low: int, high: int, weight: int) -> None:
    """Pointers to private and to global memory: OpenCL has no helper for both, the statements in its place do."""
    parsed = parse_kernel(text(body), "k")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(parsed.body))
    windows = [X[i + low : i + high].astype(np.float64) for i in range(64)]
    expected = [window.min() + weight * window.max() for window in windows]
    np.testing.assert_allclose(run(parsed)[:64], expected, rtol=1e-5, atol=1e-6)


def test_template_arguments_are_those_of_the_call() -> None:
    parsed = parse_kernel(text("float a = x[i], b = 3.0f; swap(a, b); y[i] = plus(a, x + 2, i) - b;"), "k")
    np.testing.assert_allclose(run(parsed)[:64], 3.0 + X[2:66] - X[:64], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", STAY)
def test_calls_that_stay(case: str) -> None:
    printed = print_kernel(parse_kernel(text(STAY[case]), "k"), Target.CUDA)
    assert any(f"{name}(" in printed[printed.index('extern "C"') :] for name in ("pick", "step", "early", "again"))


def test_names_of_the_file_mean_the_same_in_the_kernel() -> None:
    source = """__constant__ float scale; __constant__ float n;
        __device__ float scaled(const float* x) { return x[0] * scale; }
        __device__ float shared_name(const float* x) { return x[0] * n; }
        __global__ void k(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;
            float scale = 2; y[i] = scaled(x + i) + scale; y[i] = shared_name(x); }"""
    printed = print_kernel(parse_kernel(source, "k"), Target.CUDA)
    assert "float scaled_value = x[i] * scale;" in printed
    assert "y[i] = scaled_value + scale_2;" in printed
    assert "y[i] = shared_name(&x[0]);" in printed


def test_a_barrier_of_a_helper_is_seen() -> None:
    body = "__shared__ float tmp[32]; float s = total(x[i], tmp, threadIdx.x); y[i] = s;"
    assert any(isinstance(stmt, Barrier) for stmt in flatten(parse_kernel(text(body), "k").body))

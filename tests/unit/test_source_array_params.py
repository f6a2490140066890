"""Parameters that are arrays of arrays: executed on a CPU, and compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from genome.ir.print_source import print_kernel
from genome.ir.stmt import Opaque, flatten
from genome.source.frontend import SourceError, parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target
from tests.unit.test_source_execution import nvrtc_log, run_opencl

SOURCE = """
#define ROWS 5
#define COLS (2 + 2)
__global__ void k(const int a[3][ROWS][COLS], int (*out)[COLS], const int pick[3]) {
  int i = threadIdx.x;
  int j = blockIdx.x;
  for (int n = 0; n < 3; n++) out[j][i] += a[pick[n]][j][COLS - 1 - i] * (n + 1);
}
"""


@pytest.mark.parametrize("read", [parse_kernel, verbatim_kernel])
def test_elements_are_those_of_the_nested_arrays(read: object) -> None:
    cl = pytest.importorskip("pyopencl")
    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL device")
    text = print_kernel(read(SOURCE, "k"), Target.OPENCL)  # type: ignore[operator]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    a = np.random.default_rng(0).integers(-9, 9, (3, 5, 4), dtype=np.int32)
    out, pick = np.zeros((5, 4), np.int32), np.array([2, 0, 1], np.int32)
    buffers = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=array) for array in (a, out, pick)]
    cl.Program(context, text).build(cache_dir=False).k(queue, (20,), (4,), *buffers)
    cl.enqueue_copy(queue, out, buffers[1])
    wanted = sum(a[pick[n], :, ::-1] * (n + 1) for n in range(3))
    assert np.array_equal(out, wanted)


ROWS = """
#define N 8
__device__ float dot(const float* p, const float* q, int n) {
  float s = 0;
  for (int j = 0; j < n; j++) s += p[j] * q[j];
  return s;
}
__device__ void add(float* to, const float* from) { for (int j = 0; j < N; j++) to[j] += from[j]; }
__device__ float trace(const float a[][N]) { float s = 0; for (int j = 0; j < N; j++) s += a[j][j]; return s; }
__global__ void products(const float a[][N], float* c, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) c[i] = dot(a[i], a[m - 1 - i], N) + *a[i];
}
__global__ void named(const float (*a)[N], float* c, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const float* row = a[i];
  float s = 0;
  for (int j = 0; j < N; j++) s += row[j] * a[0][j];
  c[i] = s;
}
__global__ void deep(const float a[][3][N], float (*c)[3], int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) for (int r = 0; r < 3; r++) c[i][r] = dot(a[i][r], a[i][2 - r] + 1, N - 1);
}
__global__ void written(const float a[][N], float (*c)[N], int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) { add(c[i], a[i]); add(&c[i][0], a[0]); }
}
__global__ void blocks(const float (*__restrict__ a)[N][N], float* c, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) c[i] = trace(a[i]) + trace(*a) + trace(a[i] + 0) + dot(a[i][1], *a[0], N);
}
__global__ void sized(const float a[][N], float* c) { c[threadIdx.x] = sizeof(a[0]) / sizeof(float); }
"""
PASSED = {
    "products": ((5, 8), (5,), lambda a: (a * a[::-1]).sum(1) + a[:, 0]),
    "named": ((5, 8), (5,), lambda a: (a * a[0]).sum(1)),
    "deep": ((5, 3, 8), (5, 3), lambda a: (a[:, :, :-1] * a[:, ::-1, 1:]).sum(2)),
    "written": ((5, 8), (5, 8), lambda a: a + a[0]),
}


@pytest.mark.parametrize("entry", list(PASSED))
@pytest.mark.parametrize("read", [parse_kernel, verbatim_kernel])
def test_rows_that_go_somewhere_as_a_whole(read: object, entry: str) -> None:
    shape, result, wanted = PASSED[entry]
    a = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    text = print_kernel(read(ROWS, entry), Target.OPENCL)  # type: ignore[operator]
    c = run_opencl(text, entry, [a, np.zeros(result, np.float32), np.int32(5)], (2,), (4,))[1]
    np.testing.assert_allclose(c, wanted(a), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("entry", list(PASSED))
def test_helpers_of_rows_are_read_in_place_of_their_calls(entry: str) -> None:
    kernel = parse_kernel(ROWS, entry)
    assert [axis.name for axis in kernel.axes] == ["i"]
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))


@pytest.mark.parametrize("entry", [*PASSED, "blocks"])
@pytest.mark.parametrize("read", [parse_kernel, verbatim_kernel])
def test_nvrtc_takes_rows_and_arrays_of_rows(read: object, entry: str) -> None:
    assert nvrtc_log(print_kernel(read(ROWS, entry), Target.CUDA)) is None  # type: ignore[operator]


def test_the_size_of_a_row_is_refused_with_its_line() -> None:
    with pytest.raises(SourceError, match=r"kernel.cu:34: the size of a row of the array parameter 'a'"):
        parse_kernel(ROWS, "sized")

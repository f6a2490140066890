"""Parameters that are arrays of arrays: executed on a CPU, and compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

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

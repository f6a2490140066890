"""The backend contract on OpenCL, and the buffers of devices with memory of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.backend_contract import BackendContract

pytest.importorskip("pyopencl")

from evaluator.backend import Backend, Placement
from evaluator.canary import canary, describe_damage
from evaluator.devices import list_devices, open_backend
from evaluator.opencl.memory import DeviceBuffer, SharedBuffer
from genome.variant import Target

PRELUDE = """#define KERNEL __kernel
#define GLOBAL __global
#define SHARED __local
#define GID ((int)get_global_id(0))
#define LID ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
"""


@pytest.fixture(scope="module")
def opened() -> Backend:
    if not any(info.id == "opencl:0" for info in list_devices()):
        pytest.skip("no OpenCL device")
    return open_backend("opencl:0")


class TestOpenCL(BackendContract):
    prelude = PRELUDE
    target = Target.OPENCL

    @pytest.fixture
    def backend(self, opened: Backend) -> Backend:
        return opened


def test_device_buffers_have_canaries_too(opened: Backend) -> None:
    buffer = DeviceBuffer(opened._context, opened._queue, 100, 4096)  # type: ignore[attr-defined]
    buffer.write(np.arange(100, dtype=np.uint8))
    np.testing.assert_array_equal(buffer.read(), np.arange(100, dtype=np.uint8))
    assert buffer.damage() == ""
    buffer.fill(1)
    assert (buffer.read() == 1).all() and buffer.damage() == ""
    buffer.release()


@pytest.mark.parametrize("nbytes", [1, 12, 63, 64, 4095, 4096, 4097, 10000])
@pytest.mark.parametrize("alignment", [1, 4, 16, 64, 128])
def test_tight_buffers_end_at_the_forbidden_page(opened: Backend, nbytes: int, alignment: int) -> None:
    buffer = SharedBuffer(opened._context, opened._queue, nbytes, 0)  # type: ignore[attr-defined]
    buffer.place(Placement.TIGHT, alignment)
    inner = buffer._memory.ctypes.data
    start, end = inner + buffer._offset, inner + buffer._inner
    assert start % alignment == 0
    assert 0 <= end - (start + nbytes) < alignment
    assert buffer.damage() == ""
    buffer.release()


def test_damage_says_how_far() -> None:
    front, back = canary(10), canary(6, 10)
    touched = back.copy()
    touched[2:4] += 1
    assert describe_damage(front, touched, front, back) == "2 bytes past the end changed, the first at end+2"
    assert describe_damage(front, back, front, back) == ""

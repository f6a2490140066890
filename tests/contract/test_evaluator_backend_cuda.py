"""The backend contract on CUDA, and what only this backend promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.contract.backend_contract import ADD, BackendContract, allocated, call_of

pytest.importorskip("cupy", reason="CuPy is not installed (extras cuda13, cuda12)")

from cupy.cuda import driver

from evaluator.backend import Backend, BackendFailure, Placement
from evaluator.cuda.occupancy import ARCHITECTURES
from evaluator.devices import list_devices, open_backend
from evaluator.plan import BoundLaunch, Call
from evaluator.result import Status
from genome.variant import Target

pytestmark = pytest.mark.gpu

PRELUDE = """#define KERNEL extern "C" __global__
#define GLOBAL
#define SHARED __shared__
#define GID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define LID ((int)threadIdx.x)
#define BARRIER __syncthreads()
"""
DYNAMIC = """KERNEL void fill(GLOBAL float *a, int n) {
  extern __shared__ float t[];
  for (int i = LID; i < n; i += 64) t[i] = (float)i;
  BARRIER;
  for (int i = LID; i < n; i += 64) a[i] = t[n - 1 - i]; }"""


@pytest.fixture(scope="module")
def opened() -> Backend:
    if not any(info.id == "cuda:0" for info in list_devices()):
        pytest.skip("no CUDA device")
    return open_backend("cuda:0")


class TestCuda(BackendContract):
    prelude = PRELUDE
    target = Target.CUDA

    @pytest.fixture
    def backend(self, opened: Backend) -> Backend:
        return opened

    def test_is_a_gpu_with_a_known_architecture(self, backend: Backend) -> None:
        assert backend.info.kind == "gpu" and backend.info.id == "cuda:0"
        assert backend.info.architecture in ARCHITECTURES
        facts = ARCHITECTURES[backend.info.architecture]
        assert backend.limits.shared_bytes == backend.info.shared_bytes == facts.block_shared_bytes
        assert backend.info.l2_bytes > 1 << 20 and backend.toolchain.platform.startswith("CUDA ")

    def test_dynamic_shared_memory_beyond_the_default(self, backend: Backend) -> None:
        count = backend.limits.shared_bytes // 4
        assert count * 4 > 48 * 1024
        launch = BoundLaunch("fill", (1, 1, 1), (64, 1, 1), ("a", np.int32(count)), 4 * count)
        call = Call((launch,), {"a": 4 * count}, {}, {"a": 4})
        buffers = allocated(backend, call)
        backend.run(backend.load(self.built(backend, DYNAMIC, "fill", call)), call, buffers)
        expected = np.arange(count, dtype=np.float32)[::-1]
        np.testing.assert_array_equal(buffers["a"].read().view(np.float32), expected)

    def test_dynamic_shared_memory_over_the_limit(self, backend: Backend) -> None:
        call = call_of([("fill", 1, ("a", np.int32(4)))], {"a": 16})
        loaded = backend.load(self.built(backend, DYNAMIC, "fill", call))
        huge = replace(call.launches[0], shared_bytes=backend.limits.shared_bytes + 1024)
        with pytest.raises(BackendFailure) as caught:
            backend.run(loaded, replace(call, steps=(huge,)), allocated(backend, call))
        assert caught.value.status in (Status.LIMIT, Status.LAUNCH_ERROR) and not caught.value.fatal
        backend.run(loaded, replace(call, steps=(replace(huge, shared_bytes=16),)), allocated(backend, call))

    def test_an_allocation_beyond_the_memory(self, backend: Backend) -> None:
        with pytest.raises(BackendFailure) as caught:
            backend.allocate(2 * backend.info.memory_bytes)
        assert caught.value.status is Status.OUT_OF_MEMORY and not caught.value.fatal

    @pytest.mark.parametrize("alignment", [4, 16, 64, 128])
    def test_tight_pointers_are_no_better_aligned_than_asked(self, backend: Backend, alignment: int) -> None:
        buffer = backend.allocate(1000)
        buffer.place(Placement.TIGHT, alignment)
        pointer: int = buffer.pointer  # type: ignore[attr-defined]
        assert pointer % alignment == 0 and pointer % (2 * alignment) != 0
        buffer.place(Placement.ROOMY, alignment)
        assert buffer.pointer % 256 == 0  # type: ignore[attr-defined]

    @pytest.mark.parametrize("threads", [32, 64, 96, 256, 1024])
    @pytest.mark.parametrize("dynamic", [0, 5000, 40000])
    @pytest.mark.parametrize("cap", [24, 32, 64])
    def test_occupancy_is_the_drivers(self, backend: Backend, threads: int, dynamic: int, cap: int) -> None:
        sums = " ".join(f"x{i} += x{(i + 1) % 40} * a[i + {i}];" for i in range(40))
        starts = ", ".join(f"x{i} = a[{i}]" for i in range(40))
        total = " + ".join(f"x{i}" for i in range(40))
        body = f"float {starts}; for (int i = 0; i < n; i++) {{ {sums} }} a[GID] = {total};"
        text = f"KERNEL void busy(GLOBAL float *a, int n) {{ {body} }}"
        launch = BoundLaunch("busy", (1, 1, 1), (threads, 1, 1), ("a", np.int32(1)), dynamic)
        call = Call((launch,), {"a": 4096}, {}, {"a": 4})
        binary = self.built(backend, text, "busy", call, (f"--maxrregcount={cap}",))
        function = backend.load(binary).function(launch)  # type: ignore[attr-defined]
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, dynamic)
        most = ARCHITECTURES[backend.info.architecture].threads
        assert binary.resources.occupancy == pytest.approx(blocks * threads / most)

    def test_a_short_kernel_takes_microseconds(self, backend: Backend) -> None:
        """The time between the events holds no gap in which the device waited for the host."""
        call = call_of([("add", 1, ("a", "b", np.int32(64), np.float32(1.0)))], {"a": 256, "b": 256})
        loaded = backend.load(self.built(backend, ADD, "add", call))
        buffers = allocated(backend, call)
        times = [backend.run(loaded, call, buffers) for _ in range(20)]
        assert 0.0 < min(times) < 0.1

"""The backend contract on CUDA, and what only this backend promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.contract.backend_contract import ADD, TWICE, BackendContract, allocated, call_of

pytest.importorskip("cupy", reason="CuPy is not installed (extras cuda13, cuda12)")

from cupy.cuda import driver

from evaluator.at_once import Together
from evaluator.backend import Backend, BackendFailure, Placement
from evaluator.correctness import relative_errors
from evaluator.cuda.occupancy import ARCHITECTURES
from evaluator.devices import list_devices, open_backend
from evaluator.elements import host_dtype, packed, rounded
from evaluator.energy import Metered
from evaluator.plan import BoundLaunch, Call, bind
from evaluator.resident import Canaries, Close, Comparing, Intact, Preparation, Repeating, Same
from evaluator.result import Status
from evaluator.tolerance import bound_for
from genome.sizes import SizeExpr
from genome.spec import DTYPES, ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role, Tolerance
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

    def test_energy_is_that_of_a_device_at_work(self, backend: Backend) -> None:
        """Between a watt and two kilowatts, for as long as a call takes; a call of many times the work takes more."""
        assert isinstance(backend, Metered)
        found = []
        for blocks in (1 << 10, 1 << 16):
            count, sizes = 64 * blocks, {"a": 256 * blocks, "b": 256 * blocks}
            call = call_of([("add", blocks, ("a", "b", np.int32(count), np.float32(0.5)))], sizes)
            loaded, buffers = backend.load(self.built(backend, ADD, "add", call)), allocated(backend, call)
            energy_mj = backend.energy_mj(loaded, call, buffers, 0.3)
            if energy_mj is None:
                pytest.skip("NVML tells no energy of this device")
            watts = energy_mj / backend.run(loaded, call, buffers)
            assert 1.0 < watts < 2000.0
            found.append(energy_mj)
        assert found[1] > 2.0 * found[0]

    def test_calls_at_once_overlap(self, backend: Backend) -> None:
        """Calls of a few blocks run side by side: four take far less than four times as long as one."""
        assert isinstance(backend, Together)
        text = """KERNEL void spin(GLOBAL float *a, int n) {
          float x = a[LID]; for (int i = 0; i < n; i++) x = x * 0.999f + 0.001f; a[LID] = x; }"""
        call = call_of([("spin", 4, ("a", np.int32(200_000)))], {"a": 256})
        loaded, copies = (
            backend.load(self.built(backend, text, "spin", call)),
            [allocated(backend, call) for _ in range(4)],
        )
        alone = min(backend.run(loaded, call, copies[0]) for _ in range(3))
        together = min(backend.run_together(loaded, call, copies) for _ in range(3))
        assert together < 2.0 * alone

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

    def test_a_users_own_wide_access_runs_where_the_campaign_grants_the_alignment(self, backend: Backend) -> None:
        n = SizeExpr("N")
        args = (ArgSpec("a", "float32", Role.INOUT, (n,)), ArgSpec("n", "int32", value=n))
        size = ProblemSize((("N", 64),))
        text = "KERNEL void wide(GLOBAL float *a, int n) { if (LID < n / 4) ((float4 *)a)[LID].y = 2.0f; }"
        spec = KernelSpec("k", text, "k", args, LaunchSpec((64, 1, 1)), (size,), assumptions=Assumptions(alignment=16))
        variant = self.variant(text, "wide", ("a", "n"))
        call = bind(spec, variant, size)
        buffers = allocated(backend, call, Placement.TIGHT)
        backend.run(backend.load(backend.compile(variant, [call], "", lambda stage: None)), call, buffers)
        np.testing.assert_array_equal(buffers["a"].read().view(np.float32)[:8], [0, 2, 0, 0, 0, 2, 0, 0])

    def test_a_copy_on_the_device_outlives_a_shortage_of_memory_only_if_nobody_needs_it(self, backend: Backend) -> None:
        assert isinstance(backend, Comparing)
        kept = backend.keep(np.arange(100, dtype=np.uint8))
        assert kept is not None and kept.held
        with pytest.raises(BackendFailure):
            backend.allocate(2 * backend.info.memory_bytes)
        assert not kept.held

    def test_runs_in_a_row_start_from_what_is_restored(self, backend: Backend) -> None:
        assert isinstance(backend, Comparing) and isinstance(backend, Repeating)
        data = np.arange(64, dtype=np.float32)
        call = call_of([("twice", 1, ("b", np.int32(64)))], {"b": 256})
        loaded = backend.load(self.built(backend, TWICE, "twice", call))
        buffers = allocated(backend, call)
        kept = backend.keep(data.view(np.uint8))
        assert kept is not None
        times = backend.repeat(loaded, call, buffers, Preparation(((buffers["b"], kept),), (), 1 << 20), 7)
        assert len(times) == 7 and all(0.0 < ms < 0.1 for ms in times)
        np.testing.assert_array_equal(buffers["b"].read().view(np.float32), 2.0 * data)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int16", "uint32", "int64"])
    @pytest.mark.parametrize("placement", list(Placement))
    def test_questions_are_answered_as_numpy_does(self, backend: Backend, dtype: str, placement: Placement) -> None:
        assert isinstance(backend, Comparing)
        rng = np.random.default_rng(5)
        floating, size = host_dtype(dtype).kind == "f", DTYPES[dtype][1]
        values = rng.normal(size=5001) if floating else rng.integers(0, 100, 5001).astype(dtype)
        output, written = rounded(values, dtype).copy(), rng.random(5001) < 0.9
        output[~written] = 0
        output[17] = rounded(output[17] + 1, dtype)
        buffer = backend.allocate(5001 * size)
        buffer.place(placement, size)
        buffer.write(packed(output, dtype))
        kept, mask, pristine = (backend.keep(x.view(np.uint8)) for x in (values, written, packed(output, dtype)))
        assert kept is not None and mask is not None and pristine is not None
        bound = bound_for(Tolerance(), dtype, values)
        close = Close(buffer, kept, mask, dtype, bound.rtol, bound.atol, 0)
        found, same, intact, whole = backend.examine([close, Same(buffer, pristine), Intact(kept), Canaries(buffer)])
        errors = relative_errors(output, values, bound)[written]
        assert found.worst == errors.max() and found.changed == 0
        if floating:
            apart = (output.astype(np.float64) - values)[written]
            assert found.finite == 5001
            assert found.distance == pytest.approx((apart**2).sum(), rel=1e-12)
            assert found.size == pytest.approx((values[written] ** 2).sum(), rel=1e-12)
        assert (same.changed, intact.changed, whole.changed) == (0, 0, 0)
        output[~written] = 1
        output[-1] += 1
        buffer.write(packed(rounded(output, dtype), dtype))
        found, same = backend.examine([close, Same(buffer, pristine)])
        assert found.changed == (~written).sum() and same.changed > 0

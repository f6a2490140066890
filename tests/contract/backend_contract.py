"""What every backend must do. A platform's test module subclasses ``BackendContract`` and names its device.

Kernels are written once, with the macros KERNEL, GLOBAL, SHARED, GID, LID, BARRIER that ``prelude`` defines.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from evaluator.at_once import Together
from evaluator.backend import Backend, BackendFailure, Binary, Buffer, Placement
from evaluator.plan import BoundLaunch, Call
from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.variant import GridAxis, Launch, Memset, Target, Variant

ADD = "KERNEL void add(GLOBAL float *a, GLOBAL float *b, int n, float s) { int i = GID; if (i < n) b[i] = a[i] + s; }"
TWICE = "KERNEL void twice(GLOBAL float *b, int n) { int i = GID; if (i < n) b[i] = b[i] * 2.0f; }"
REVERSE = """KERNEL void reverse(GLOBAL float *a) {
  SHARED float t[64]; t[LID] = a[GID]; BARRIER; a[GID] = t[63 - LID]; }"""
OUTSIDE = "KERNEL void outside(GLOBAL float *a, int at) { if (GID == 0) a[at] = 1.0f; }"


class BackendContract:
    """Tests of one backend. Subclasses give ``backend``, ``prelude`` and ``target``."""

    prelude: str
    target: Target

    @pytest.fixture
    def backend(self) -> Backend:
        raise NotImplementedError

    def variant(self, text: str, entry: str, args: tuple[str, ...], options: tuple[str, ...] = ()) -> Variant:
        axis = GridAxis(SizeExpr("1"))
        launch = Launch(entry, (axis, axis, axis), (64, 1, 1), args)
        return Variant("test", self.target, self.prelude + text, (launch,), options=options)

    def built(self, backend: Backend, text: str, entry: str, call: Call, options: tuple[str, ...] = ()) -> Binary:
        names = tuple(str(index) for index in range(len(call.launches[0].args)))
        return backend.compile(self.variant(text, entry, names, options), [call], "", lambda stage: None)

    def test_says_what_it_is(self, backend: Backend) -> None:
        assert backend.info.name and backend.info.units > 0 and backend.info.memory_bytes > 0
        assert backend.info.kind in ("cpu", "gpu")
        assert backend.limits.max_threads >= 64 and backend.limits.shared_bytes >= 16 * 1024
        assert backend.toolchain.platform and backend.toolchain.compiler
        assert backend.target is self.target

    def test_runs_a_launch_with_scalars(self, backend: Backend) -> None:
        data = np.arange(100, dtype=np.float32)
        call = call_of([("add", 2, ("a", "b", np.int32(100), np.float32(0.5)))], {"a": 400, "b": 400})
        buffers = allocated(backend, call)
        buffers["a"].write(data.view(np.uint8))
        buffers["b"].fill(0xFF)
        ms = backend.run(backend.load(self.built(backend, ADD, "add", call)), call, buffers)
        assert ms > 0.0
        np.testing.assert_array_equal(buffers["b"].read().view(np.float32), data + np.float32(0.5))
        assert not any(buffer.damage() for buffer in buffers.values())

    def test_runs_steps_in_order(self, backend: Backend) -> None:
        call = Call(
            (
                Memset("b", 0x3F),
                BoundLaunch("add", (2, 1, 1), (64, 1, 1), ("b", "s", np.int32(100), np.float32(1.0))),
                BoundLaunch("twice", (2, 1, 1), (64, 1, 1), ("s", np.int32(100))),
            ),
            {"b": 400}, {"s": 400}, {"b": 4, "s": 4},
        )  # fmt: skip
        variant = self.variant(ADD + TWICE, "add", ("0", "1", "2", "3"))
        twice = Launch("twice", variant.launches[0].grid, (64, 1, 1), ("0", "1"))
        variant = Variant("test", self.target, variant.source, (*variant.steps, twice))
        buffers = allocated(backend, call)
        binary = backend.compile(variant, [call], "", lambda stage: None)
        backend.run(backend.load(binary), call, buffers)
        start = np.full(4, 0x3F, np.uint8).view(np.float32)[0]
        expected = np.full(100, (start + np.float32(1.0)) * np.float32(2.0))
        np.testing.assert_array_equal(buffers["s"].read().view(np.float32), expected)

    def test_calls_at_once_keep_to_their_own_buffers(self, backend: Backend) -> None:
        assert isinstance(backend, Together)
        call = call_of([("add", 2, ("a", "b", np.int32(100), np.float32(0.5)))], {"a": 400, "b": 400})
        copies, wanted = [], []
        for number in range(3):
            copies.append(allocated(backend, call))
            wanted.append(np.arange(100, dtype=np.float32) * np.float32(number + 1))
            copies[-1]["a"].write(wanted[-1].view(np.uint8))
        loaded = backend.load(self.built(backend, ADD, "add", call))
        for _ in range(2):
            assert backend.run_together(loaded, call, copies) > 0.0
        for buffers, data in zip(copies, wanted, strict=True):
            np.testing.assert_array_equal(buffers["b"].read().view(np.float32), data + np.float32(0.5))
            assert not any(buffer.damage() for buffer in buffers.values())

    def test_a_launch_that_fails_among_several_is_told(self, backend: Backend) -> None:
        assert isinstance(backend, Together)
        small = call_of([("reverse", 1, ("a",))], {"a": 256})
        loaded = backend.load(self.built(backend, REVERSE, "reverse", small))
        huge = BoundLaunch("reverse", (1, 1, 1), (2 * backend.limits.max_threads, 1, 1), ("a",))
        call = Call((huge,), small.buffers, {}, small.alignments)
        with pytest.raises(BackendFailure) as caught:
            backend.run_together(loaded, call, [allocated(backend, small) for _ in range(2)])
        assert caught.value.status in (Status.LIMIT, Status.LAUNCH_ERROR)
        assert backend.run_together(loaded, small, [allocated(backend, small) for _ in range(2)]) > 0.0

    def test_shared_memory_and_barrier(self, backend: Backend) -> None:
        data = np.arange(128, dtype=np.float32)
        call = call_of([("reverse", 2, ("a",))], {"a": 512})
        buffers = allocated(backend, call)
        buffers["a"].write(data.view(np.uint8))
        backend.run(backend.load(self.built(backend, REVERSE, "reverse", call)), call, buffers)
        np.testing.assert_array_equal(buffers["a"].read().view(np.float32), data.reshape(2, 64)[:, ::-1].reshape(-1))

    def test_options_reach_the_compiler(self, backend: Backend) -> None:
        text = "KERNEL void put(GLOBAL float *a) { if (GID == 0) a[0] = VALUE; }"
        call = call_of([("put", 1, ("a",))], {"a": 4})
        buffers = allocated(backend, call)
        backend.run(backend.load(self.built(backend, text, "put", call, ("-DVALUE=7.5f",))), call, buffers)
        assert buffers["a"].read().view(np.float32)[0] == 7.5

    def test_a_compile_error_names_the_line(self, backend: Backend) -> None:
        call = call_of([("add", 1, ("a", "b"))], {"a": 4, "b": 4})
        with pytest.raises(BackendFailure) as caught:
            self.built(backend, "\nKERNEL void add(GLOBAL float *a, GLOBAL float *b) { a[0] = nowhere; }", "add", call)
        assert caught.value.status is Status.COMPILE_ERROR
        assert "nowhere" in caught.value.message and str(self.prelude.count("\n") + 2) in caught.value.message

    def test_a_missing_entry_is_a_compile_error(self, backend: Backend) -> None:
        call = call_of([("absent", 1, ("a",))], {"a": 4})
        with pytest.raises(BackendFailure) as caught:
            self.built(backend, "KERNEL void other(GLOBAL float *a) { a[0] = 1.0f; }", "absent", call)
        assert caught.value.status is Status.COMPILE_ERROR and "absent" in caught.value.message

    def test_a_block_over_the_limit_is_refused(self, backend: Backend) -> None:
        small = call_of([("reverse", 1, ("a",))], {"a": 256})
        loaded = backend.load(self.built(backend, REVERSE, "reverse", small))
        huge = BoundLaunch("reverse", (1, 1, 1), (2 * backend.limits.max_threads, 1, 1), ("a",))
        call = Call((huge,), small.buffers, {}, small.alignments)
        with pytest.raises(BackendFailure) as caught:
            backend.run(loaded, call, allocated(backend, small))
        assert caught.value.status in (Status.LIMIT, Status.LAUNCH_ERROR)

    @pytest.mark.parametrize(("at", "where"), [(-1, "before the start"), (3, "past the end")])
    def test_canaries_see_stray_writes(self, backend: Backend, at: int, where: str) -> None:
        call = call_of([("outside", 1, ("a", np.int32(at)))], {"a": 12})
        safe = call_of([("outside", 1, ("a", np.int32(0)))], {"a": 12})
        loaded = backend.load(self.built(backend, OUTSIDE, "outside", safe))
        buffers = allocated(backend, call, Placement.ROOMY)
        backend.run(loaded, call, buffers)
        assert where in buffers["a"].damage()
        buffers["a"].place(Placement.ROOMY, 4)
        assert buffers["a"].damage() == ""

    @pytest.mark.parametrize("placement", list(Placement))
    @pytest.mark.parametrize("alignment", [4, 16, 64, 256])
    def test_placement_keeps_contents_apart(self, backend: Backend, placement: Placement, alignment: int) -> None:
        buffer = backend.allocate(52)
        buffer.place(placement, alignment)
        buffer.fill(0x5A)
        assert (buffer.read() == 0x5A).all() and buffer.nbytes == 52 and buffer.damage() == ""
        data = np.arange(52, dtype=np.uint8)
        buffer.write(data)
        np.testing.assert_array_equal(buffer.read(), data)
        assert buffer.damage() == ""
        buffer.release()

    def test_the_flush_can_be_repeated(self, backend: Backend) -> None:
        for _ in range(2):
            backend.flush(1 << 20)

    def test_peaks_are_measured(self, backend: Backend) -> None:
        peaks = backend.measure_peaks()
        assert peaks.bandwidth_gbs > 0.1 and peaks.gflops > 0.1


def call_of(launches: list[tuple[str, int, tuple[object, ...]]], sizes: Mapping[str, int]) -> Call:
    """Launches of 64 threads a block."""
    steps = tuple(BoundLaunch(entry, (grid, 1, 1), (64, 1, 1), args) for entry, grid, args in launches)  # type: ignore[arg-type]
    return Call(steps, sizes, {}, dict.fromkeys(sizes, 4))


def allocated(backend: Backend, call: Call, placement: Placement = Placement.TIGHT) -> dict[str, Buffer]:
    """Buffers of a call, zeroed."""
    buffers = {name: backend.allocate(size) for name, size in {**call.buffers, **call.scratch}.items()}
    for name, buffer in buffers.items():
        buffer.place(placement, call.alignments[name])
        buffer.fill(0)
    return buffers

"""What the device clears, the host accepts with the same error; what the host refuses, the device never clears.

The text of the comparison runs on PoCL here, where a pointer is an address of this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.backend import Buffer, Bytes, Placement
from evaluator.canary import canary, describe_damage
from evaluator.correctness import POISONS, judge
from evaluator.cuda.judge_code import BLOCKS, COLUMNS, EXACT, KINDS, OPENCL, SOURCE, THREADS
from evaluator.defences import Defences
from evaluator.elements import host_dtype, packed, rounded, unpacked
from evaluator.resident import Canaries, Close, Finding, Intact, Kept, Question, Same
from evaluator.result import Status
from evaluator.screen import Screen, as_bytes, usable
from evaluator.tolerance import Expected, bound_for
from genome.sizes import SizeExpr
from genome.spec import DTYPES, ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role, Tolerance

CHOSEN = ("float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "uint64")
HOW = ("right", "element", "nan", "overflow", "slight", "edge", "unwritten", "touched", "canary", "input")
N = SizeExpr("N")


@dataclass
class Copy:
    data: Bytes
    digest: int = 0
    held: bool = True

    @property
    def nbytes(self) -> int:
        return self.data.size

    def release(self) -> None:
        self.held = False


@dataclass
class Memory:
    """A payload between two canaries."""

    nbytes: int
    offset: int = 64
    whole: Bytes = field(init=False)

    def __post_init__(self) -> None:
        self.whole = canary(self.nbytes + 128)
        self.payload = self.whole[self.offset : self.offset + self.nbytes]

    def place(self, placement: Placement, alignment: int) -> None:
        del placement, alignment

    def write(self, data: Bytes) -> None:
        self.payload[:] = data

    def fill(self, byte: int) -> None:
        self.payload[:] = byte

    def read(self) -> Bytes:
        return self.payload.copy()

    def damage(self) -> str:
        pattern = canary(self.nbytes + 128)
        end = self.offset + self.nbytes
        return describe_damage(self.whole[: self.offset], self.whole[end:], pattern[: self.offset], pattern[end:])

    def release(self) -> None:
        pass


class OnThisDevice:
    """Runs the kernels of the comparison; ``asked`` counts questions."""

    def __init__(self) -> None:
        device = cl.get_platforms()[0].get_devices()[0]
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)
        program = cl.Program(self._context, OPENCL + SOURCE).build()
        self._kernels = {name: cl.Kernel(program, name) for name in ("inspect", "closeness", "fold")}
        self.asked = 0

    def keep(self, data: Bytes) -> Copy:
        copy = Copy(np.concatenate([data, np.zeros(-data.size % 8, np.uint8)])[: data.size].copy())
        copy.digest = self._line((address(copy.data), 0, copy.nbytes, 0))[-1]
        return copy

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        assert isinstance(kept, Copy)
        buffer.write(kept.data)

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        self.asked += len(questions)
        return tuple(map(self._answer, questions))

    def _answer(self, question: Question) -> Finding:
        match question:
            case Canaries(buffer=Memory() as memory):
                pattern, end = canary(memory.nbytes + 128), memory.offset + memory.nbytes
                front = self._line((address(memory.whole), address(pattern), memory.offset, 4))
                back = self._line((address(memory.whole) + end, address(pattern) + end, 128 - memory.offset, 1))
                return Finding(int(sum(row.view(np.float64)[1] for row in (front, back))))
            case Same(buffer=Memory() as memory, kept=Copy() as copy):
                unit = 4 if address(copy.data) % 4 == 0 else 1
                row = self._line((address(memory.payload), address(copy.data), copy.nbytes, unit))
                return Finding(int(row.view(np.float64)[1]))
            case Intact(kept=Copy() as copy):
                return Finding(int(self._line((address(copy.data), 0, copy.nbytes, 0))[-1] != copy.digest))
            case Close(buffer=Memory() as memory, values=Copy() as values, written=written, dtype=dtype, poison=poison):
                size = DTYPES[dtype][1]
                left = int.from_bytes(bytes([poison or 0]) * size, "little")
                arrays = [memory.payload, values.data, written.data if isinstance(written, Copy) else values.data]
                row = self._rows(
                    "closeness", (BLOCKS, 1), *map(self._buffer, arrays), np.uint64(memory.nbytes // size),
                    np.int32(KINDS.get(dtype, EXACT + size)), np.float64(question.atol), np.float64(question.rtol),
                    np.uint64(left), np.int32(written is not None), np.int32(question.wide),
                )  # fmt: skip
                worst, touched, distance, norm, finite = (float(value) for value in row.view(np.float64)[:5])
                return Finding(int(touched) if poison is not None else 0, worst, distance, norm, int(finite))
        raise AssertionError(question)

    def _line(self, task: tuple[int, int, int, int]) -> np.ndarray:
        table = np.array(task, np.uint64)
        return self._rows("inspect", (BLOCKS, 1), self._buffer(table.view(np.uint8)))

    def _rows(self, name: str, grid: tuple[int, int], *args: object) -> np.ndarray:
        rows, result = np.zeros(BLOCKS * COLUMNS, np.uint64), np.zeros(COLUMNS, np.uint64)
        held, out = self._buffer(rows.view(np.uint8)), self._buffer(result.view(np.uint8))
        self._kernels[name](self._queue, (grid[0] * THREADS, grid[1]), (THREADS, 1), *args, held)
        self._kernels["fold"](self._queue, (THREADS,), (THREADS,), held, out, np.int32(BLOCKS))
        cl.enqueue_copy(self._queue, result, out)
        return result

    def _buffer(self, data: Bytes) -> cl.Buffer:
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=data)


def address(data: Bytes) -> int:
    return int(data.ctypes.data)


@pytest.fixture(scope="module")
def device() -> OnThisDevice:
    return OnThisDevice()


def spec_of(dtype: str, role: Role, tolerance: Tolerance) -> KernelSpec:
    args = (ArgSpec("a", "float32", Role.IN, (N,)), ArgSpec("c", dtype, role, (N,)))
    launch, size = LaunchSpec((64, 1, 1), domain=(N,)), ProblemSize((("N", 7),))
    return KernelSpec("k", "", "k", args, launch, (size,), tolerance=tolerance)


def values_of(dtype: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if host_dtype(dtype).kind in "iu":
        return rng.integers(0, 100, count).astype(dtype)
    values = rng.normal(0.0, 1.0, count) * 10.0 ** rng.integers(-3, 4)
    for special in (0.0, np.inf, -np.inf, np.nan):
        values[rng.random(count) < 0.02] = special
    return values


def spoilt(output: np.ndarray, how: str, rng: np.random.Generator) -> None:
    """Changes one element, or all of them a little."""
    at = int(rng.integers(output.size))
    floating = output.dtype.kind == "f"
    match how:
        case "element":
            output[at] = output[at] * 2 + 1 if floating else output[at] ^ 1
        case "nan" if floating:
            output[at] = np.nan
        case "overflow" if floating:
            output[at] = np.inf
        case "slight" if floating:
            output *= 1.0 + 10.0 ** rng.uniform(-9.0, -1.0)
        case "edge" if floating:
            output[at] *= 1.0 + 2e-4 * rng.random()


@settings(max_examples=250, deadline=None)
@given(
    dtype=st.sampled_from(CHOSEN), count=st.integers(1, 3000), seed=st.integers(0, 2**32 - 1),
    how=st.sampled_from(HOW),
    masked=st.booleans(), role=st.sampled_from([Role.OUT, Role.INOUT]), poison=st.sampled_from(POISONS),
    tolerance=st.sampled_from([Tolerance(), Tolerance(1e-4, 1e-4), Tolerance(1e-3, None, 1e-6), Tolerance(norm=1e-3)]),
    allowed=st.sampled_from([1.0, 7.5]), own=st.booleans(),
)  # fmt: skip
def test_the_device_clears_what_the_host_accepts(
    device: OnThisDevice, dtype: str, count: int, seed: int, how: str, masked: bool, role: Role, poison: int,
    tolerance: Tolerance, allowed: float, own: bool,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    spec = spec_of(dtype, role, tolerance)
    values = values_of(dtype, count, rng)
    with np.errstate(over="ignore", invalid="ignore"):
        output = rounded(values, dtype).copy()
        values = output.copy() if own else values  # the baseline's outputs, or a reference's
        spoilt(output, how, rng)
        output = rounded(output, dtype)
    written = rng.random(count) < 0.8 if masked and role is Role.OUT else None
    size = DTYPES[dtype][1]
    memory, source = Memory(size * count), Memory(4 * count)
    memory.fill(poison)
    whole, held = (data.view(f"u{size}") for data in (memory.payload, packed(output, dtype)))
    whole[slice(None) if written is None else written] = held if written is None else held[written]
    if how in ("unwritten", "touched"):
        at = int(rng.integers(count))
        memory.payload[at * size : (at + 1) * size] = poison if how == "unwritten" else 1
    if how == "canary":
        memory.whole[rng.choice([0, memory.offset - 1, memory.offset + memory.nbytes, memory.whole.size - 1])] ^= 1
    pristine = rng.normal(size=count).astype(np.float32)
    screen = Screen(device, spec, Defences())
    assert screen.restore(0, "a", source, lambda: pristine)
    if how == "input":
        source.payload[rng.integers(source.nbytes)] ^= 1
    expected = Expected(values, written, (count,), None, dtype)
    cleared = screen.clears(0, {"a": source, "c": memory}, {}, {"c": expected}, poison, allowed)

    stray = bool(memory.damage()) or bool((source.payload != as_bytes(pristine)).any())
    bound = bound_for(tolerance, dtype, values)
    byte = poison if role is Role.OUT else None
    verdict = judge("c", unpacked(memory.payload, dtype), expected, bound, byte, allowed, "N")
    if stray or verdict.status is not Status.OK:
        assert cleared is None
    elif cleared is not None:
        assert cleared == pytest.approx(verdict.error, rel=1e-9)
    else:
        assert verdict.error > allowed * (1.0 - 1e-8)
    assert not screen.damaged()


def test_a_damaged_copy_is_seen(device: OnThisDevice) -> None:
    screen = Screen(device, spec_of("float32", Role.OUT, Tolerance()), Defences())
    source = Memory(400)
    screen.restore(0, "a", source, lambda: np.arange(100, dtype=np.float32))
    kept = screen.input(0, "a", lambda: np.zeros(0, np.float32))
    assert isinstance(kept, Copy) and not screen.damaged()
    words = kept.data.view(np.uint32)
    words[[10, 11]] = words[[11, 10]]
    assert screen.damaged()


def test_nothing_is_cleared_without_the_pristine_inputs(device: OnThisDevice) -> None:
    screen = Screen(device, spec_of("float32", Role.OUT, Tolerance()), Defences())
    buffers = {"a": Memory(400), "c": Memory(400)}
    expected = {"c": Expected(np.zeros(100), None, (100,))}
    assert screen.clears(0, buffers, {}, expected, None, 1.0) is None


def test_a_comparison_that_leaves_something_out_is_the_hosts() -> None:
    assert usable(Defences())
    for name in ("whole_output", "untouched", "nan", "norm", "own_tolerance"):
        assert not usable(Defences(**{name: False}))

"""Comparison on the device: copies that stay there, and questions that come back as a few numbers each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cupy.cuda import Stream, alloc_pinned_memory, runtime
from cupy.cuda.function import Module
from numpy.typing import NDArray

from evaluator.backend import BackendFailure, Buffer, Bytes
from evaluator.cuda.failures import cuda_calls
from evaluator.cuda.judge_code import BLOCKS, COLUMNS, CUDA, EXACT, KINDS, OPTIONS, SOURCE, THREADS
from evaluator.cuda.memory import DeviceBuffer
from evaluator.cuda.nvrtc import Nvrtc
from evaluator.resident import Canaries, Close, Finding, Intact, Kept, Question, Same
from evaluator.result import Status
from genome.spec import DTYPES

_MOST = 64  # tasks in one go
_WORD = 8
_BLOCK_BYTES = 4096  # that are worth a block
_RESERVE = 4  # copies leave this part of the device's memory free


class KeptArray:
    """An array in device memory with its digest. See ``Kept``."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.digest = 0
        with cuda_calls(f"an allocation of {nbytes} bytes"):
            self.pointer: int = runtime.malloc(max(nbytes, 1))

    @property
    def held(self) -> bool:
        """See ``Kept.held``."""
        return self.pointer != 0

    def release(self) -> None:
        """See ``Kept.release``."""
        if self.pointer:
            with cuda_calls("freeing a copy"):
                runtime.free(self.pointer)
            self.pointer = 0


class Judge:
    """See the module. One a stream.

    Raises:
        BackendFailure: If the compiler cannot make code for the architecture.
    """

    def __init__(self, nvrtc: Nvrtc, architecture: str, stream: Stream) -> None:
        result = nvrtc.compile(CUDA + SOURCE, "judge_code.py", (f"-arch={architecture}", *OPTIONS))
        if not result.ok:
            text = f"NVRTC {nvrtc.version} makes no code for {architecture}: {result.log[:300]}"
            raise BackendFailure(Status.COMPILE_ERROR, text)
        self._stream = stream
        self._module = Module()
        self._module.load(result.cubin)
        self._inspect, self._closeness, self._fold = (
            self._module.get_function(name) for name in ("inspect", "closeness", "fold")
        )
        self._table = runtime.malloc(_MOST * 4 * _WORD)
        self._rows = runtime.malloc(_MOST * BLOCKS * COLUMNS * _WORD)
        self._results = runtime.malloc(_MOST * COLUMNS * _WORD)
        self._host_table = _pinned(_MOST * 4)
        self._host_results = _pinned(_MOST * COLUMNS)
        self._kept: list[KeptArray] = []

    def keep(self, data: Bytes) -> KeptArray | None:
        """See ``Comparing.keep``."""
        free, total = runtime.memGetInfo()
        if free - data.nbytes < total // _RESERVE:
            return None
        try:
            kept = KeptArray(data.nbytes)
        except BackendFailure as failure:
            if failure.status is Status.OUT_OF_MEMORY:
                return None
            raise
        with cuda_calls("a copy to the device"):
            source = np.ascontiguousarray(data)
            runtime.memcpyAsync(
                kept.pointer, source.ctypes.data, data.nbytes, runtime.memcpyHostToDevice, self._stream.ptr
            )
            self._stream.synchronize()
        kept.digest = int(self._answers([(kept.pointer, 0, kept.nbytes, 0)], [])[0, -1])
        self._kept = [item for item in self._kept if item.held] + [kept]
        return kept

    def give_up_copies(self) -> bool:
        """Frees every copy, because the memory is needed; False if there were none."""
        held = [item for item in self._kept if item.held]
        for item in held:
            item.release()
        self._kept = []
        return bool(held)

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        """See ``Comparing.restore``."""
        target, source = device_buffer(buffer), _kept(kept)
        with cuda_calls("a copy on the device"):
            runtime.memcpyAsync(
                target.pointer, source.pointer, source.nbytes, runtime.memcpyDeviceToDevice, self._stream.ptr
            )

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        """See ``Comparing.examine``."""
        findings: list[Finding] = []
        batch: list[Question] = []
        tasks = 0
        for question in questions:
            cost = 2 if isinstance(question, Canaries) else 1
            if tasks + cost > _MOST:
                findings += self._batch(batch)
                batch, tasks = [], 0
            batch.append(question)
            tasks += cost
        return tuple(findings + self._batch(batch))

    def _batch(self, questions: Sequence[Question]) -> list[Finding]:
        """Byte comparisons go to the device as one table, each comparison of values as a launch of its own."""
        table: list[tuple[int, int, int, int]] = []
        spans: list[range] = []
        closes = [question for question in questions if isinstance(question, Close)]
        for question in questions:
            lines = _lines(question)
            spans.append(range(len(table), len(table) + len(lines)))
            table += lines
        answers = self._answers(table, closes)
        found, close = [], len(table)
        for question, span in zip(questions, spans, strict=True):
            if isinstance(question, Close):
                found.append(_near(answers[close], question))
                close += 1
            elif isinstance(question, Intact):
                found.append(Finding(int(answers[span[0], -1] != np.uint64(_kept(question.kept).digest))))
            else:
                found.append(Finding(int(sum(answers[line].view(np.float64)[1] for line in span))))
        return found

    def _answers(self, table: Sequence[tuple[int, int, int, int]], closes: Sequence[Close]) -> NDArray[np.uint64]:
        """One row of numbers for each line of the table, then for each comparison of values."""
        count = len(table) + len(closes)
        if count == 0:
            return np.zeros((0, COLUMNS), np.uint64)
        blocks = _blocks(table, closes)
        with cuda_calls("the comparison"):
            if table:
                self._host_table[: 4 * len(table)] = np.asarray(table, np.uint64).reshape(-1)
                self._copy(
                    self._table, self._host_table.ctypes.data, 4 * len(table) * _WORD, runtime.memcpyHostToDevice
                )
                pointers = (np.uint64(self._table), np.uint64(self._rows))
                self._inspect((blocks, len(table), 1), (THREADS, 1, 1), pointers, 0, self._stream)
            for number, question in enumerate(closes, start=len(table)):
                rows = self._rows + number * blocks * COLUMNS * _WORD
                self._closeness(
                    (blocks, 1, 1), (THREADS, 1, 1), (*_operands(question), np.uint64(rows)), 0, self._stream
                )
            args = (np.uint64(self._rows), np.uint64(self._results), np.int32(blocks))
            self._fold((count, 1, 1), (THREADS, 1, 1), args, 0, self._stream)
            size = count * COLUMNS
            self._copy(self._host_results.ctypes.data, self._results, size * _WORD, runtime.memcpyDeviceToHost)
            self._stream.synchronize()
        answers: NDArray[np.uint64] = self._host_results[:size].reshape(count, COLUMNS).copy()
        return answers

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        runtime.memcpyAsync(target, source, nbytes, kind, self._stream.ptr)


def _pinned(words: int) -> NDArray[np.uint64]:
    """Host memory that the device reads and writes by itself."""
    return np.frombuffer(alloc_pinned_memory(words * _WORD), np.uint64, words)


def _kept(kept: Kept) -> KeptArray:
    if not isinstance(kept, KeptArray):
        raise TypeError(f"not a copy of this backend: {kept!r}")
    if not kept.held:
        raise BackendFailure(Status.LAUNCH_ERROR, "a released copy was used")
    return kept


def device_buffer(buffer: Buffer) -> DeviceBuffer:
    """The buffer as this backend made it."""
    if not isinstance(buffer, DeviceBuffer):
        raise TypeError(f"not a buffer of this backend: {buffer!r}")
    return buffer


def _lines(question: Question) -> list[tuple[int, int, int, int]]:
    """The lines of the table that a question needs: address, other address, bytes, unit."""
    match question:
        case Canaries(buffer=buffer):
            return [(*pair, _unit(pair[0], pair[1])) for pair in device_buffer(buffer).margins()]
        case Same(buffer=buffer, kept=kept):
            source, pointer = _kept(kept), device_buffer(buffer).pointer
            return [(pointer, source.pointer, source.nbytes, _unit(pointer, source.pointer))]
        case Intact(kept=kept):
            source = _kept(kept)
            return [(source.pointer, 0, source.nbytes, 0)]
    return []


def _blocks(table: Sequence[tuple[int, int, int, int]], closes: Sequence[Close]) -> int:
    """As many as the largest array keeps busy: most comparisons are of small sizes, and short."""
    most = max([nbytes for _, _, nbytes, _ in table] + [question.buffer.nbytes for question in closes])
    return min(BLOCKS, -(-most // _BLOCK_BYTES) or 1)


def _unit(first: int, second: int) -> int:
    return 4 if (first | second) % 4 == 0 else 1


def _operands(question: Close) -> tuple[np.generic, ...]:
    """Arguments of ``closeness`` but the last."""
    buffer, size = device_buffer(question.buffer), DTYPES[question.dtype][1]
    written = _kept(question.written).pointer if question.written is not None else 0
    byte = question.poison or 0
    left = int.from_bytes(bytes([byte]) * size, "little")
    return (
        np.uint64(buffer.pointer), np.uint64(_kept(question.values).pointer), np.uint64(written),
        np.uint64(buffer.nbytes // size), np.int32(KINDS.get(question.dtype, EXACT + size)),
        np.float64(question.atol), np.float64(question.rtol), np.uint64(left), np.int32(question.written is not None),
        np.int32(question.wide),
    )  # fmt: skip


def _near(row: NDArray[np.uint64], question: Close) -> Finding:
    worst, touched, distance, size, finite = (float(value) for value in row.view(np.float64)[:5])
    return Finding(int(touched) if question.poison is not None else 0, worst, distance, size, int(finite))

"""Several calls under way at once, each with arrays of its own, in place of one: how throughput is measured.

A backend that can start calls together is wrapped. What is above it fills, runs and reads as ever: a buffer stands for
one copy a call, a run starts all calls and takes as long as the whole divided by their number. Every run starts from
fresh arrays in every copy, so that no call finds its result in place; the copies take turns in being read, and where
the device compares, all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, runtime_checkable

from evaluator.backend import Backend, BackendFailure, Binary, Buffer, Bytes, Loaded, Peaks, Placement
from evaluator.energy import Metered
from evaluator.objective import Objective
from evaluator.plan import Call
from evaluator.resident import Canaries, Clocked, Close, Comparing, Finding, Kept, Question, Same
from evaluator.result import DeviceInfo, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Target, Variant


@runtime_checkable
class Together(Protocol):
    """A backend that can start several calls together."""

    def run_together(self, loaded: Loaded, call: Call, copies: Sequence[Mapping[str, Buffer]]) -> float:
        """Runs one call with each copy of the buffers, all at once, each on a queue of its own, and waits for the end.

        Returns:
            Milliseconds from the start of the first to the end of the last, by the device's clock.

        Raises:
            BackendFailure: As ``Backend.run``.
        """


class Copies:
    """A buffer for each of several calls that are under way together. See ``Buffer`` for the methods."""

    def __init__(self, parts: Sequence[Buffer], reading: Callable[[], int]) -> None:
        self.parts, self._reading = tuple(parts), reading

    @property
    def nbytes(self) -> int:
        """Bytes of the payload of each."""
        return self.parts[0].nbytes

    def place(self, placement: Placement, alignment: int) -> None:
        """Places all of them alike."""
        for part in self.parts:
            part.place(placement, alignment)

    def write(self, data: Bytes) -> None:
        """Writes the same to all of them."""
        for part in self.parts:
            part.write(data)

    def fill(self, byte: int) -> None:
        """Fills all of them."""
        for part in self.parts:
            part.fill(byte)

    def read(self) -> Bytes:
        """One of those that took part in the last run; another one after each run."""
        return self.parts[self._reading()].read()

    def damage(self) -> str:
        """Where canaries of any of them changed."""
        for number, part in enumerate(self.parts, 1):
            if found := part.damage():
                return f"{found} (call {number} of {len(self.parts)})"
        return ""

    def release(self) -> None:
        """Releases all of them."""
        for part in self.parts:
            part.release()


class AtOnce:
    """A backend whose runs are several calls at once. See ``Backend`` for the methods.

    Args:
        backend: Starts calls together (``Together``).
        most: Copies of every buffer.
        now: Calls of a run, until ``running`` says otherwise.
    """

    def __init__(self, backend: Backend, most: int, now: int) -> None:
        self.inner, self.most, self.now = backend, most, now
        self._runs = 0

    @contextmanager
    def running(self, calls: int) -> Iterator[None]:
        """Inside, a run is so many calls."""
        before, self.now = self.now, calls
        try:
            yield
        finally:
            self.now = before

    @property
    def info(self) -> DeviceInfo:
        """The hardware, with the memory that one call may use."""
        return replace(self.inner.info, memory_bytes=self.inner.info.memory_bytes // self.most)

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits."""
        return self.inner.limits

    @property
    def toolchain(self) -> Toolchain:
        """Driver and compiler."""
        return self.inner.toolchain

    @property
    def target(self) -> Target:
        """The language it compiles."""
        return self.inner.target

    def compile(self, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]) -> Binary:
        """See ``Backend.compile``."""
        return self.inner.compile(variant, trials, salt, notify)

    def load(self, binary: Binary) -> Loaded:
        """See ``Backend.load``."""
        return self.inner.load(binary)

    def allocate(self, nbytes: int) -> Copies:
        """Copies for every call."""
        parts: list[Buffer] = []
        try:
            for _ in range(self.most):
                parts.append(self.inner.allocate(nbytes))
        except BackendFailure:
            for part in parts:
                part.release()
            raise
        return Copies(parts, self._reading)

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        """Runs all calls at once; milliseconds of the whole, divided by their number."""
        copies = [{name: _parts(buffer)[number] for name, buffer in buffers.items()} for number in range(self.now)]
        self._runs += 1
        if self.now == 1:
            return self.inner.run(loaded, call, copies[0])
        if not isinstance(self.inner, Together):
            raise BackendFailure(Status.LAUNCH_ERROR, "this device cannot start calls together")
        return self.inner.run_together(loaded, call, copies) / self.now

    def flush(self, cap_bytes: int) -> None:
        """See ``Backend.flush``."""
        self.inner.flush(cap_bytes)

    def measure_peaks(self) -> Peaks:
        """See ``Backend.measure_peaks``."""
        return self.inner.measure_peaks()

    def clocks(self) -> tuple[int, int]:
        """See ``Clocked.clocks``; zeros where the backend has none."""
        return self.inner.clocks() if isinstance(self.inner, Clocked) else (0, 0)

    def energy_mj(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], seconds: float) -> float | None:
        """See ``Metered.energy_mj``; of calls one after another, whatever a run is."""
        if not isinstance(self.inner, Metered):
            return None
        return self.inner.energy_mj(loaded, call, {name: _parts(b)[0] for name, b in buffers.items()}, seconds)

    def _reading(self) -> int:
        return self._runs % self.now


class ComparingAtOnce(AtOnce):
    """The same where the device compares: every question about a buffer is one about each of its copies."""

    def __init__(self, backend: Backend, most: int, now: int) -> None:
        if not isinstance(backend, Comparing):
            raise TypeError(f"not a backend that compares: {backend!r}")
        super().__init__(backend, most, now)
        self._comparing: Comparing = backend

    def keep(self, data: Bytes) -> Kept | None:
        """See ``Comparing.keep``."""
        return self._comparing.keep(data)

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        """See ``Comparing.restore``."""
        for part in _parts(buffer):
            self._comparing.restore(part, kept)

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        """See ``Comparing.examine``. Outputs of calls that took no part in the last run are not asked about."""
        spread = [_spread(question, self.now) for question in questions]
        found = iter(self._comparing.examine([part for parts in spread for part in parts]))
        return tuple(_worst([next(found) for _ in parts]) for parts in spread)


def for_objective(backend: Backend, objective: Objective) -> Backend:
    """The backend as the objective needs it: itself, unless calls are ever under way together."""
    if objective.most_at_once == 1:
        return backend
    kind = ComparingAtOnce if isinstance(backend, Comparing) else AtOnce
    return kind(backend, objective.most_at_once, objective.timed_at_once)


def _parts(buffer: Buffer) -> tuple[Buffer, ...]:
    if not isinstance(buffer, Copies):
        raise TypeError(f"not a buffer of this backend: {buffer!r}")
    return buffer.parts


def _spread(question: Question, now: int) -> list[Question]:
    if isinstance(question, Close):
        return [replace(question, buffer=part) for part in _parts(question.buffer)[:now]]
    if isinstance(question, Canaries | Same):
        return [replace(question, buffer=part) for part in _parts(question.buffer)]
    return [question]


def _worst(findings: Sequence[Finding]) -> Finding:
    """All copies together: the largest error of an element, the sums of the copy that is off most as a whole."""
    whole = max(findings, key=lambda found: found.distance / found.size if found.size else found.distance)
    worst, changed = max(found.worst for found in findings), sum(found.changed for found in findings)
    return replace(whole, worst=worst, changed=changed)

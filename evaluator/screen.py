"""Clears what a run left without copying it to the host, where the backend can compare.

A screen only ever says "right": whatever it does not clear is judged on the host, whose verdicts and messages are thus
the same with and without one. Element errors are bit for bit those of the host; sums of squares depend on the order in
which they are added, so that an error of the whole that lies near its bound is left to the host as well.

The copies that it compares with lie in memory that a stray write can reach. Each has a digest, which is looked at after
every variant and whenever something is not cleared: a damaged copy is a stray write, and ends its process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.backend import Buffer
from evaluator.defences import Defences
from evaluator.elements import Array, host_dtype, packed
from evaluator.plan import array_args, output_args
from evaluator.resident import Canaries, Close, Comparing, Finding, Intact, Kept, Question, Same
from evaluator.tolerance import Bound, Expected, bound_for
from genome.spec import KernelSpec, Role

_NEAR = 1e-9  # relative: sums of 2**40 squares in double precision differ by less, whatever their order


@dataclass(frozen=True)
class _Oracle:
    """What an output must hold, on the device; ``expected`` is what it was made from."""

    expected: Expected
    values: Kept
    written: Kept | None
    bound: Bound

    @property
    def held(self) -> bool:
        return self.values.held and (self.written is None or self.written.held)

    def release(self) -> None:
        self.values.release()
        if self.written is not None:
            self.written.release()


class Screen:
    """One problem size. ``device`` is a backend that compares.

    Args:
        device: Where the buffers are.
        spec: The kernel.
        defences: What is looked at; a comparison that leaves something out is left to the host.
    """

    def __init__(self, device: Comparing, spec: KernelSpec, defences: Defences) -> None:
        self._device, self._spec, self._defences = device, spec, defences
        self._inputs: dict[tuple[int, str], Kept] = {}
        self._oracles: dict[tuple[int, str], _Oracle] = {}

    def input(self, which: int, name: str, make: Callable[[], Array]) -> Kept | None:
        """The pristine values of an input in a set; None where there is no room for them."""
        key = which, name
        kept = self._inputs.get(key)
        if kept is None or not kept.held:
            kept = self._device.keep(as_bytes(make()))
            if kept is None:
                return None
            self._inputs[key] = kept
        return kept

    def restore(self, which: int, name: str, buffer: Buffer, make: Callable[[], Array]) -> bool:
        """Fills a buffer with the pristine values of an input; False where the host must do it."""
        kept = self.input(which, name, make)
        if kept is not None:
            self._device.restore(buffer, kept)
        return kept is not None

    def clears(
        self, which: int, buffers: Mapping[str, Buffer], scratch: Mapping[str, Buffer],
        expected: Mapping[str, Expected], poison: int | None, allowed: float,
    ) -> float | None:  # fmt: skip
        """The error of a run that left everything as it must be, relative to the tolerance; None: the host must look.

        Args:
            which: Input set that the buffers were filled with.
            buffers: Of all array arguments.
            scratch: Whose canaries count as well.
            expected: What the outputs must hold.
            poison: Byte that outputs started with, or None.
            allowed: Largest error.
        """
        questions = self._questions(which, buffers, scratch)
        bounds = []
        for arg in output_args(self._spec):
            oracle = self._oracle(which, arg.name, arg.dtype, expected[arg.name])
            if oracle is None or questions is None:
                return None
            byte, bound = poison if arg.role is Role.OUT else None, oracle.bound
            wide = oracle.expected.values.dtype != host_dtype(arg.dtype)
            questions.append(
                Close(buffers[arg.name], oracle.values, oracle.written, arg.dtype, bound.rtol, bound.atol, byte, wide)
            )
            bounds.append(bound)
        findings = self._device.examine(questions or ())
        if any(finding.changed for finding in findings):
            return None
        errors = [_error(found, bound) for found, bound in zip(findings[-len(bounds) :], bounds, strict=True)]
        return max(errors) if all(error <= allowed * (1.0 - _NEAR) or error == 0.0 for error in errors) else None

    def untouched(self, which: int, buffers: Mapping[str, Buffer], scratch: Mapping[str, Buffer]) -> bool:
        """True if canaries and inputs are what they were; else the host must look."""
        questions = self._questions(which, buffers, scratch)
        return questions is not None and not any(finding.changed for finding in self._device.examine(questions))

    def damaged(self) -> bool:
        """True if one of the copies on the device is not what was stored."""
        kept = [*self._inputs.values()]
        for oracle in self._oracles.values():
            kept += [oracle.values] if oracle.written is None else [oracle.values, oracle.written]
        questions = [Intact(item) for item in kept if item.held]
        return any(finding.changed for finding in self._device.examine(questions))

    def release(self) -> None:
        """Gives the device memory back."""
        for item in self._inputs.values():
            item.release()
        for oracle in self._oracles.values():
            oracle.release()
        self._inputs, self._oracles = {}, {}

    def _questions(
        self, which: int, buffers: Mapping[str, Buffer], scratch: Mapping[str, Buffer]
    ) -> list[Question] | None:
        """About everything but the outputs."""
        questions: list[Question] = []
        if self._defences.canaries:
            questions += [Canaries(buffer) for buffer in (*buffers.values(), *scratch.values())]
        for arg in array_args(self._spec):
            if arg.role is Role.IN and self._defences.inputs_kept:
                kept = self._inputs.get((which, arg.name))
                if kept is None or not kept.held:
                    return None
                questions.append(Same(buffers[arg.name], kept))
        return questions

    def _oracle(self, which: int, name: str, dtype: str, expected: Expected) -> _Oracle | None:
        key = which, name
        oracle = self._oracles.get(key)
        if oracle is not None and oracle.expected is expected and oracle.held:
            return oracle
        if oracle is not None:
            oracle.release()
        values = self._device.keep(packed(expected.values, dtype))
        written = None if expected.written is None else self._device.keep(as_bytes(expected.written))
        if values is None or (expected.written is not None and written is None):
            return None
        bound = bound_for(self._spec.tolerance, dtype, expected, self._defences)
        oracle = self._oracles[key] = _Oracle(expected, values, written, bound)
        return oracle


def usable(defences: Defences) -> bool:
    """True if outputs are compared in full: a screen knows no other way."""
    return defences.whole_output and defences.untouched and defences.nan and defences.norm and defences.own_tolerance


def as_bytes(array: Array) -> Array:
    """The bytes of an array, in row-major order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _error(found: Finding, bound: Bound) -> float:
    """The larger of the element error and that of the whole (see ``correctness.norm_error``)."""
    if bound.norm == 0.0:
        return found.worst
    distance, size = math.sqrt(found.distance), math.sqrt(found.size)
    floor = bound.floor * math.sqrt(found.finite)
    norm = distance / max(bound.norm * size, floor) if distance > 0.0 and max(size, floor) > 0.0 else 0.0
    return max(found.worst, norm) if math.isfinite(norm) else math.inf

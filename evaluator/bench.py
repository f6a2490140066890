"""One problem size on the device: resident buffers, input sets, and the checks around a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.backend import Backend, BackendFailure, Buffer, Loaded, Placement
from evaluator.correctness import POISONS, Verdict, judge, other_poison, poisoned
from evaluator.defences import Defences
from evaluator.elements import Array, host_dtype, packed, unpacked
from evaluator.energy import Metered
from evaluator.inputs import scalars
from evaluator.oracle import widen
from evaluator.plan import Call, array_args, output_args
from evaluator.resident import Comparing, Preparation, Repeating
from evaluator.result import Status
from evaluator.screen import Screen, usable
from evaluator.tolerance import Expected, bound_for
from genome.spec import KernelSpec, ProblemSize, Role

Checker = Callable[[Mapping[str, Array], Mapping[str, Array]], str]
"""(inputs, outputs) -> empty, or what is wrong."""

Inputs = Callable[[int], Mapping[str, Array]]
"""Input set -> arrays of the in and inout arguments."""

_BATCH, _SHORT_MS = 5, 5.0  # where a run takes longer than that, waiting for the host costs nothing


class Bench:
    """Buffers of one size, filled with an input set, and the comparison of what a run leaves in them.

    Every run starts from poisoned outputs. ``expected`` holds the oracle, one mapping for each input set; ``checker``
    is the user's own and replaces the comparison of values. ``baseline_errors`` and ``notes`` belong to the input
    sets as well: how far the baseline is off (1.0 = at the tolerance), and what is special about the values.
    ``exponent`` is that of the set of extreme magnitudes.
    """

    def __init__(
        self, backend: Backend, spec: KernelSpec, size: ProblemSize, make: Inputs, defences: Defences | None = None
    ) -> None:
        self.spec, self.size = spec, size
        self._backend, self._make, self._defences = backend, make, defences or Defences()
        self._inputs: dict[int, Mapping[str, Array]] = {}
        self._buffers: dict[str, Buffer] = {}
        self._scratch: dict[str, Buffer] = {}
        self._screen: Screen | None = None
        if isinstance(backend, Comparing) and usable(self._defences):
            self._screen = Screen(backend, spec, self._defences)
        self._set = 0
        self._poison = POISONS[0]
        self.expected: tuple[Mapping[str, Expected], ...] = ()
        self.baseline_errors: tuple[float, ...] = ()
        self.notes: Mapping[int, str] = {}
        self.exponent = 0
        self.checker: Checker | None = None
        self.last_ms = 0.0
        self.kernel_ms = 0.0

    @property
    def baseline_error(self) -> float:
        """The baseline's own error with the inputs that are loaded, relative to the tolerance."""
        return self.baseline_errors[self._set] if self._set < len(self.baseline_errors) else 0.0

    def inputs_of(self, which: int) -> dict[str, Array]:
        """What a reference gets for an input set."""
        return widen(self._values(which)) | {name: np.asarray(v) for name, v in scalars(self.spec, self.size).items()}

    def load(self, call: Call, which: int, placement: Placement | None, poison: int, keep: bool = False) -> None:
        """Fills the buffers for a run.

        Args:
            call: The variant's call at this size: its alignments and scratch count.
            which: Input set.
            placement: Where the payloads lie; None leaves them where they are.
            poison: Byte that outputs and scratch start with.
            keep: Leave the scratch buffers as the last run left them.

        Raises:
            BackendFailure: With OUT_OF_MEMORY.
        """
        self._set = which if self._defences.second_inputs else 0
        self._poison = poison if self._defences.second_poison else POISONS[0]
        if placement is Placement.TIGHT and not self._defences.tight:
            placement = Placement.ROOMY
        if not keep:
            self.prepare_scratch(call)
        for arg in array_args(self.spec):
            buffer = self._buffers.get(arg.name)
            stale = buffer is not None and arg.role is Role.OUT and not self._defences.poison
            if buffer is None:
                buffer = self._buffers[arg.name] = self._backend.allocate(call.buffers[arg.name])
            if placement is not None and not stale:
                buffer.place(placement, call.alignments[arg.name])
            if arg.role is not Role.OUT:
                self._fill(arg.name, buffer)
            elif not stale:
                buffer.fill(self._poison)

    def restore(self) -> None:
        """Before a timed run: inout arguments get their pristine values, outputs the poison."""
        poison = self._defences.poison and self._defences.timed_poison
        for arg in array_args(self.spec):
            if arg.role is Role.INOUT:
                self._fill(arg.name, self._buffers[arg.name])
            elif arg.role is Role.OUT and poison:
                self._buffers[arg.name].fill(self._poison)

    def run(self, loaded: Loaded, call: Call) -> float:
        """Runs the call once; milliseconds. See ``Backend.run``."""
        self.last_ms = self._backend.run(loaded, call, {**self._buffers, **self._scratch})
        self.kernel_ms += self.last_ms
        return self.last_ms

    @property
    def batch(self) -> int:
        """Runs that are worth starting together."""
        return _BATCH if isinstance(self._backend, Repeating) and self.last_ms < _SHORT_MS else 1

    def timed_runs(self, loaded: Loaded, call: Call, flush_bytes: int, count: int) -> list[float]:
        """Milliseconds of runs, each from restored inputs, poisoned outputs and (unless 0) an evicted cache."""
        backend, before = self._backend, self._preparation(flush_bytes)
        if isinstance(backend, Repeating) and before is not None:
            found = [*backend.repeat(loaded, call, {**self._buffers, **self._scratch}, before, count)]
            self.kernel_ms += sum(found)
            self.last_ms = found[-1]
            return found
        found = []
        for _ in range(count):
            self.restore()
            if flush_bytes:
                backend.flush(flush_bytes)
            found.append(self.run(loaded, call))
        return found

    def energy_mj(self, loaded: Loaded, call: Call, seconds: float) -> float | None:
        """Millijoules of a call; None where nothing counts them. See ``Metered``."""
        if not isinstance(self._backend, Metered):
            return None
        return self._backend.energy_mj(loaded, call, {**self._buffers, **self._scratch}, seconds)

    def outputs(self) -> dict[str, Array]:
        """Flat outputs, in what the host keeps their dtype in."""
        return {arg.name: unpacked(self._buffers[arg.name].read(), arg.dtype) for arg in output_args(self.spec)}

    def stray(self) -> str:
        """Empty, or which canary or input the last run changed."""
        where = self.size.label
        if self._screen is not None and self._screen.untouched(self._set, self._buffers, self._scratch):
            return ""
        for name, buffer in {**self._buffers, **self._scratch}.items():
            if self._defences.canaries and (damage := buffer.damage()):
                return f"stray write at {where}: around {name}, {damage}"
        for arg in array_args(self.spec):
            if arg.role is Role.IN and self._defences.inputs_kept:
                changed = np.count_nonzero(self._buffers[arg.name].read() != self._pristine(arg.name))
                if changed:
                    return f"stray write at {where}: {changed} bytes of the input {arg.name} changed"
        return ""

    def verdict(self, allowed: float) -> Verdict:
        """Judges what the last run left: canaries, inputs, then every output, whole."""
        error = self._cleared(allowed)
        if error is not None:
            return Verdict(error=error)
        if self.damaged():
            text = f"stray write at {self.size.label}: memory that belongs to no argument changed"
            return Verdict(Status.STRAY_WRITE, text, float("inf"))
        if stray := self.stray():
            return Verdict(Status.STRAY_WRITE, stray, float("inf"))
        outputs = self.outputs()
        if self.checker is not None:
            return self._ask_checker(self.checker, outputs)
        worst = 0.0
        for arg in output_args(self.spec):
            expected = self.expected[self._set][arg.name]
            bound = bound_for(self.spec.tolerance, arg.dtype, expected, self._defences)
            poison = self._poison if arg.role is Role.OUT and self._defences.poison else None
            verdict = judge(
                arg.name, outputs[arg.name], expected, bound, poison, allowed, self.size.label, self._defences
            )
            if verdict.status is not Status.OK:
                note = self.notes.get(self._set, "")
                return replace(verdict, message=f"{verdict.message} ({note})") if note else verdict
            worst = max(worst, verdict.error)
        return Verdict(error=worst)

    def damaged(self) -> bool:
        """True if a copy that the device keeps for comparison changed: a run wrote outside of its buffers."""
        return self._screen is not None and self._screen.damaged()

    def release(self) -> None:
        """Gives the device memory back; the oracle stays."""
        if self._screen is not None:
            self._screen.release()
        for buffer in (*self._buffers.values(), *self._scratch.values()):
            buffer.release()
        self._buffers, self._scratch = {}, {}

    def _cleared(self, allowed: float) -> float | None:
        """The error of a run that the device finds right; None where it must be judged here."""
        if self._screen is None or self.checker is not None:
            return None
        poison = self._poison if self._defences.poison else None
        return self._screen.clears(self._set, self._buffers, self._scratch, self.expected[self._set], poison, allowed)

    def _preparation(self, flush_bytes: int) -> Preparation | None:
        """What ``restore`` does, for the device; None where it has no copy of what must be restored."""
        copies, fills = [], []
        for arg in array_args(self.spec):
            if arg.role is Role.INOUT:
                screen, name = self._screen, arg.name
                kept = screen.input(self._set, name, partial(self._pristine, name)) if screen is not None else None
                if kept is None:
                    return None
                copies.append((self._buffers[arg.name], kept))
            elif arg.role is Role.OUT and self._defences.poison and self._defences.timed_poison:
                fills.append((self._buffers[arg.name], self._poison))
        return Preparation(tuple(copies), tuple(fills), flush_bytes)

    def _fill(self, name: str, buffer: Buffer) -> None:
        """Gives an input its pristine values."""
        if self._screen is None or not self._screen.restore(self._set, name, buffer, partial(self._pristine, name)):
            buffer.write(self._pristine(name))

    def _pristine(self, name: str) -> Array:
        """The bytes of an input in the set that is loaded."""
        arg = self.spec.arg(name)
        assert arg is not None
        return packed(self._values(self._set)[name], arg.dtype)

    def _ask_checker(self, checker: Checker, outputs: Mapping[str, Array]) -> Verdict:
        """Unwritten elements are ours to see (the poison may satisfy a checker); values are the checker's."""
        for arg in output_args(self.spec):
            if arg.role is not Role.OUT:
                continue
            left = poisoned(outputs[arg.name], self._poison, arg.dtype)
            written = self.expected[self._set][arg.name].written
            count = int(np.count_nonzero(left if written is None else left & written))
            if count > 0 and host_dtype(arg.dtype).kind == "f":
                text = f"unwritten at {self.size.label}: {count} of {left.size} elements of {arg.name}"
                return Verdict(Status.UNWRITTEN, text, float("inf"))
        try:
            complaint = checker(self.inputs_of(self._set), self._shaped(outputs))
        except EvaluatorError as error:
            return Verdict(Status.WRONG, f"wrong at {self.size.label}: {error}", float("inf"))
        if complaint:
            return Verdict(Status.WRONG, f"wrong at {self.size.label}: {complaint}", float("inf"))
        return Verdict()

    def accepts_for(self, which: int) -> bool:
        """True if the checker takes what the last run left for outputs of another input set, which differs."""
        values = self._values(which)
        if self.checker is None or all(
            np.array_equal(values[name], old) for name, old in self._values(self._set).items()
        ):
            return False
        with suppress(EvaluatorError):
            return not self.checker(self.inputs_of(which), self._shaped(self.outputs()))
        return False

    def _shaped(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs as a checker gets them."""
        return widen({arg.name: outputs[arg.name].reshape(arg.extent(self.size.env)) for arg in output_args(self.spec)})

    def prepare_scratch(self, call: Call) -> None:
        """Makes the scratch buffers of a call, poisoned."""
        for name in [name for name, old in self._scratch.items() if call.scratch.get(name) != old.nbytes]:
            self._scratch.pop(name).release()
        for name, nbytes in call.scratch.items():
            if nbytes <= 0:
                raise BackendFailure(Status.LIMIT, f"scratch buffer '{name}' has {nbytes} bytes at {self.size.label}")
            if name not in self._scratch:
                self._scratch[name] = self._backend.allocate(nbytes)
            self._scratch[name].place(Placement.ROOMY, call.alignments[name])
            self._scratch[name].fill(other_poison(self._poison) if self._defences.scratch_poison else 0)

    def _values(self, which: int) -> Mapping[str, Array]:
        """The arrays of an input set, made when they are first needed."""
        if which not in self._inputs:
            self._inputs[which] = self._make(which)
        return self._inputs[which]

"""How the judge of a size comes to be: the baseline's outputs, and what the campaign's reference says of them.

At a check size the reference is asked at once. At a tuned size a process of its own asks it (``evaluator.beside``): if
its answer is there in time, the order is the same; if not, the baseline's outputs are what variants are compared with
until it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluator.api import EvaluatorError
from evaluator.backend import Loaded, Placement
from evaluator.bench import Bench
from evaluator.correctness import POISONS, poisoned
from evaluator.elements import Array
from evaluator.fillings import tiers
from evaluator.inputs import EXTREME
from evaluator.plan import Call, array_args, output_args
from evaluator.result import Status
from evaluator.standing import Oracle, Standing
from evaluator.station import Station
from evaluator.store import load_answer
from evaluator.tolerance import Expected
from genome.spec import ProblemSize, Role

_POLL_S = 0.005
_JUDGE_S = 60.0  # for an answer to be read, brought to the device, and compared

Outputs = Mapping[str, Expected]


class OracleBuilder:
    """Builds oracles with the baseline on a station's device.

    Args:
        station: Of this process.
        loaded: The baseline.
    """

    def __init__(self, station: Station, loaded: Loaded) -> None:
        self._station, self._loaded = station, loaded
        self._late = False  # sizes behind one whose answer is late need not be waited for

    def build(self, size: ProblemSize, call: Call, extremes: bool = False) -> None:
        """Keeps what outputs must hold at a size, by the reference's word.

        Args:
            size: Problem size.
            call: The baseline's call there.
            extremes: Look for a third input set, of extreme magnitudes, that the baseline stands.

        Raises:
            EvaluatorError: If the baseline writes outside of its buffers, or differs from the reference.
        """
        bench = self._station.new_bench(size)
        for which in self._station.sets:
            self._add_set(bench, call, which)
        if extremes and self._stands_extremes():
            bench = self._widened(bench, call)
        self._station.adopt(bench, Oracle(bench.expected, bench.baseline_errors, bench.exponent))

    def build_beside(self, size: ProblemSize, call: Call) -> Standing:
        """The same at a tuned size, whose reference may be late; says whose word the oracle rests on for now.

        Raises:
            EvaluatorError: See ``build``.
        """
        bench = self._station.new_bench(size)
        own: list[Outputs] = []
        for which in self._station.sets:
            own.append(self._own(bench, call, which))
            right = self._await(size, which) if len(bench.expected) == which else None
            if right is not None:
                self._judge(bench, own[-1], right)
        if len(bench.expected) == len(own):
            oracle = Oracle(bench.expected, bench.baseline_errors, answered=True)
        else:
            oracle = Oracle(tuple(own), (0.0,) * len(own), standing=Standing.AWAITED)
        self._station.adopt(bench, oracle)
        return oracle.standing

    def settle(self, size: ProblemSize, call: Call) -> None:
        """Compares the baseline with answers that have arrived, which judge this size from now on.

        Raises:
            EvaluatorError: If they differ.
        """
        station = self._station
        bench = station.bench(size)
        own, bench.expected, bench.baseline_errors = bench.expected, (), ()
        for which, outputs in enumerate(own):
            right = load_answer(station.setup.session, station.spec, size, which)
            if right is None:
                raise EvaluatorError(f"the reference's answer at {size.label} is gone")
            bench.load(call, which, Placement.ROOMY, POISONS[which % len(POISONS)])
            station.beat("baseline", size)
            bench.run(self._loaded, call)
            self._judge(bench, outputs, right)
        station.adopt(bench, Oracle(bench.expected, bench.baseline_errors, answered=True))

    def _stands_extremes(self) -> bool:
        """True if a numpy reference can tell what extreme inputs give, and nobody has granted to lose it."""
        setup, defences = self._station.setup, self._station.settings.defences
        told = setup.reference is not None and setup.reference.kind == "numpy"
        wanted = defences.extremes and defences.second_inputs and setup.perturb
        return told and wanted and not setup.spec.assumptions.fast_math

    def _widened(self, bench: Bench, call: Call) -> Bench:
        """The bench with a third set, of the largest magnitudes at which the baseline matches the reference."""
        floats = tuple(arg.dtype for arg in array_args(self._station.spec) if arg.role is not Role.OUT)
        for exponent in tiers(floats):
            trial = self._station.new_bench(bench.size, exponent)
            trial.expected, trial.baseline_errors = bench.expected, bench.baseline_errors
            try:
                self._add_set(trial, call, EXTREME)
            except EvaluatorError:
                trial.release()
                continue
            bench.release()
            return trial
        return bench

    def _add_set(self, bench: Bench, call: Call, which: int) -> None:
        """What the outputs must hold with one more input set."""
        own = self._own(bench, call, which)
        with self._station.opening.stage("opening: reference"):
            right = self._station.ask_reference(bench, which)
        if right is None and bench.checker is None:
            bench.expected, bench.baseline_errors = (*bench.expected, own), (*bench.baseline_errors, 0.0)
        else:
            self._judge(bench, own, right)

    def _await(self, size: ProblemSize, which: int) -> dict[str, Array] | None:
        """The answer of the reference's process, if it comes while patience lasts."""
        station = self._station
        until = time.monotonic() + (0.0 if self._late else station.settings.reference_patience_s)
        with station.opening.stage("opening: reference"):
            while (answer := load_answer(station.setup.session, station.spec, size, which)) is None:
                if time.monotonic() >= until:
                    self._late = True
                    return None
                time.sleep(_POLL_S)
        return answer

    def _own(self, bench: Bench, call: Call, which: int) -> Outputs:
        """Outputs, and which elements are written: those that do not keep both poisons."""
        with self._station.opening.stage("opening: baseline"):
            outputs, masks = self._run_poisoned(bench, call, which)
        written: dict[str, Array | None] = dict.fromkeys(outputs)
        for name in masks[0]:
            untouched = masks[0][name] & masks[1][name]
            written[name] = ~untouched if untouched.any() else None
        return {
            arg.name: Expected(outputs[arg.name], written[arg.name], arg.extent(bench.size.env), None, arg.dtype)
            for arg in output_args(self._station.spec)
        }

    def _run_poisoned(
        self, bench: Bench, call: Call, which: int
    ) -> tuple[dict[str, Array], Sequence[Mapping[str, Array]]]:
        """Outputs, and with each poison the elements that kept it; no masks if no element kept the first."""
        masks: list[dict[str, Array]] = []
        outputs: dict[str, Array] = {}
        pure = {arg.name: arg.dtype for arg in output_args(self._station.spec) if arg.role is Role.OUT}
        for poison in POISONS:
            bench.load(call, which, Placement.TIGHT, poison)
            self._station.beat("baseline", bench.size)
            bench.run(self._loaded, call)
            if stray := bench.stray():
                raise EvaluatorError(f"the kernel itself is at fault: {stray}")
            outputs = bench.outputs()
            masks.append({name: poisoned(outputs[name], poison, dtype) for name, dtype in pure.items()})
            if not any(mask.any() for mask in masks[-1].values()):
                return outputs, ({}, {})
        return outputs, masks

    def _judge(self, bench: Bench, own: Outputs, right: Mapping[str, Array] | None) -> None:
        """Adds what the outputs must hold with the inputs that are loaded, and judges what the last run left.

        Args:
            bench: Holds the baseline's run.
            own: The baseline's outputs with these inputs.
            right: The reference's; None where a checker judges.

        Raises:
            EvaluatorError: If the baseline is wrong.
        """
        expected = own
        if right is not None:
            expected = {name: replace(item, values=right[name]) for name, item in own.items()}
        bench.expected = (*bench.expected, expected)
        with self._station.opening.stage("opening: comparison"):
            self._station.beat("comparison", bench.size, _JUDGE_S)
            verdict = bench.verdict(1.0)
        bench.baseline_errors = (*bench.baseline_errors, verdict.error)
        if verdict.status is Status.OK:
            return
        if right is None:
            raise EvaluatorError(f"the untransformed kernel fails the checker: {verdict.message}")
        raise EvaluatorError(
            f"the untransformed kernel does not match the reference, {verdict.message}: mend one of them, "
            "or set `tolerance:` in the campaign if the difference is rounding"
        )

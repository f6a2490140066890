"""The state of a device process: one backend, one bench a size, the baseline, and the deadlines of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.backend import Backend, Loaded, Peaks, Placement
from evaluator.bench import Bench
from evaluator.correctness import POISONS, Expected, Verdict, bound_for, judge, poisoned
from evaluator.fillings import tiers
from evaluator.inputs import EXTREME, SETS, Array, fixed_inputs, make_inputs, shaped
from evaluator.messages import Beat, Prepared, Setup, Work
from evaluator.oracle import Reference, ReferenceProcess
from evaluator.plan import Call, array_args, bind, compulsory_bytes, output_args
from evaluator.result import Evaluation, Status
from evaluator.store import Oracle, generated_file, load_oracle, save_generated, save_oracle
from evaluator.turn import Turn
from genome.spec import ArgSpec, ProblemSize, Role

TIMED = 0
"""The input set of timed runs: the one that is as the campaign describes it."""

_GRACE_S = 5.0  # on top of the reference's own deadline, which this process keeps


class Station:
    """See the module. Raises nothing of its own beyond what its parts say."""

    def __init__(self, backend: Backend, setup: Setup, connection: Connection) -> None:
        self.backend, self.setup, self.spec, self.settings = backend, setup, setup.spec, setup.settings
        self.turn = Turn(setup.session, backend.info.kind == "cpu")
        self.variant = ""
        self.peaks = setup.peaks
        self.perturb = setup.perturb and setup.settings.defences.perturb
        self.baseline: Prepared | None = None
        self.baseline_results: dict[str, Evaluation] = {}
        self._connection = connection
        self._benches: dict[str, Bench] = {}
        self._reference = (
            ReferenceProcess(setup.reference, setup.session / "reference.log", setup.settings.reference_timeout_s)
            if setup.reference
            else None
        )

    def beat(self, stage: str, size: ProblemSize, runs_s: float | None = None) -> None:
        """Tells the parent what comes next, and for how long it may take (default: the deadline of one run)."""
        allowed = self.deadline_s(size) if runs_s is None else runs_s
        self._connection.send(Beat(stage, size.label, allowed, self.variant))

    def wait(self, stage: str, size: ProblemSize) -> None:
        """Tells the parent that this process waits for another one."""
        self._connection.send(Beat(stage, size.label, variant=self.variant))

    def deadline_s(self, size: ProblemSize) -> float:
        """Longest single run at a size, in seconds."""
        times = {label: result.timing.median_ms for label, result in self.baseline_results.items() if result.timing}
        return self.settings.run_deadline_s(times.get(size.label, max(times.values(), default=None)))

    def work(self, size: ProblemSize) -> Work:
        """Operations at a size: what the caller says; bytes that it leaves out are the arguments'."""
        given = self.setup.work.get(size.label, Work())
        return replace(given, bytes=given.bytes or compulsory_bytes(self.spec, size))

    def measure_peaks_again(self) -> None:
        """Raises the peaks if the device does more now than when they were measured, perhaps on a busy machine."""
        with self.turn.timing():
            now = self.backend.measure_peaks()
        self.peaks = Peaks(max(now.bandwidth_gbs, self.peaks.bandwidth_gbs), max(now.gflops, self.peaks.gflops))

    def bench(self, size: ProblemSize) -> Bench:
        """The bench of a size whose oracle exists."""
        if size.label not in self._benches:
            oracle = load_oracle(self.setup.session, self.spec, size)
            bench = self._new_bench(size, oracle.exponent)
            bench.expected, bench.baseline_errors = oracle.expected, oracle.errors
            self._benches[size.label] = bench
        return self._benches[size.label]

    @property
    def kernel_s(self) -> float:
        """Seconds in which the device ran kernels of variants, so far."""
        return sum(bench.kernel_ms for bench in self._benches.values()) * 1e-3

    def damaged(self) -> bool:
        """True if copies on the device are no longer what they were: see ``Bench.damaged``."""
        return any(bench.damaged() for bench in self._benches.values())

    def allowed_error(self, bench: Bench) -> float:
        """Largest error relative to the tolerance, with the inputs that are loaded."""
        return max(1.0, self.settings.baseline_error_factor * bench.baseline_error)

    def build_oracle(self, size: ProblemSize, loaded: Loaded, call: Call, extremes: bool = False) -> None:
        """Runs the baseline (and the reference) at a size and keeps what outputs must hold.

        Args:
            size: Problem size.
            loaded: The baseline.
            call: Its call at this size.
            extremes: Look for a third input set, of extreme magnitudes, that the baseline stands.

        Raises:
            EvaluatorError: If the baseline writes outside its buffers, or differs from the reference.
        """
        bench = self._new_bench(size)
        for which in range(SETS if self.settings.defences.second_inputs else 1):
            self._add_set(bench, loaded, call, which)
        if extremes and self._stands_extremes():
            bench = self._widened(bench, loaded, call)
        oracle = Oracle(bench.expected, bench.baseline_errors, bench.exponent)
        save_oracle(self.setup.session, self.spec, size, oracle)
        self._benches[size.label] = bench

    def verify(
        self, bench: Bench, loaded: Loaded, call: Call, which: int, placement: Placement | None, keep: bool = False
    ) -> Verdict:
        """One run from poisoned outputs with an input set, judged. ``keep`` leaves scratch as the last run left it."""
        bench.load(call, which, placement, POISONS[which % len(POISONS)], keep)
        self.beat("check", bench.size)
        bench.run(loaded, call)
        return bench.verdict(self.allowed_error(bench))

    def load_for_timing(self, bench: Bench, call: Call) -> None:
        """Fills the buffers as timed runs find them: the inputs that the campaign describes, generous placement."""
        bench.load(call, TIMED, Placement.ROOMY, POISONS[TIMED])

    def close(self) -> None:
        """Ends the reference process."""
        if self._reference is not None:
            self._reference.close()

    def _new_bench(self, size: ProblemSize, exponent: int = 0) -> Bench:
        def make(which: int) -> Mapping[str, Array]:
            return make_inputs(
                self.spec,
                size,
                self.setup.seed,
                which,
                perturb=self.perturb,
                exponent=exponent,
                generate=self._generate,
            )

        bench = Bench(self.backend, self.spec, size, make, self.settings.defences)
        bench.exponent = exponent
        notes = {EXTREME: f"with magnitudes up to 1e{exponent}"} if exponent else {}
        if self.perturb and (names := fixed_inputs(self.spec)):
            notes[1] = f"with other values in {', '.join(names)}"
        bench.notes = notes
        reference = self.setup.reference
        if self._reference is not None and reference is not None and reference.kind == "checker":
            process = self._reference

            def check(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> str:
                self.beat("reference", size, self.settings.reference_timeout_s + _GRACE_S)
                return process.check(size, inputs, outputs)

            bench.checker = check
        return bench

    def _stands_extremes(self) -> bool:
        """True if a numpy reference can tell what extreme inputs give, and nobody has granted to lose it."""
        reference, defences = self.setup.reference, self.settings.defences
        told = reference is not None and reference.kind == "numpy"
        wanted = defences.extremes and defences.second_inputs and self.setup.perturb
        return told and wanted and not self.spec.assumptions.fast_math

    def _widened(self, bench: Bench, loaded: Loaded, call: Call) -> Bench:
        """The bench with a third set, of the largest magnitudes at which the baseline matches the reference."""
        floats = tuple(arg.dtype for arg in array_args(self.spec) if arg.role is not Role.OUT)
        for exponent in tiers(floats):
            trial = self._new_bench(bench.size, exponent)
            trial.expected, trial.baseline_errors = bench.expected, bench.baseline_errors
            try:
                self._add_set(trial, loaded, call, EXTREME)
            except EvaluatorError:
                trial.release()
                continue
            bench.release()
            return trial
        return bench

    def _add_set(self, bench: Bench, loaded: Loaded, call: Call, which: int) -> None:
        """What the outputs must hold with one more input set."""
        outputs, written = self._baseline_outputs(bench, loaded, call, which)
        shapes = {arg.name: arg.extent(bench.size.env) for arg in output_args(self.spec)}
        right = outputs if self._reference is None or bench.checker else self._reference_outputs(bench, which)
        expected = {name: Expected(_exact(right[name]), written[name], shapes[name]) for name in outputs}
        bench.expected = (*bench.expected, expected)
        verdict = self._judge_baseline(bench, outputs, expected)
        bench.baseline_errors = (*bench.baseline_errors, verdict.error)

    def _generate(self, arg: ArgSpec, size: ProblemSize, which: int) -> Array:
        """An array of the user's own function, called once in a session."""
        path = generated_file(self.setup.session, size, arg.name, which)
        if not path.exists():
            file, _, function = arg.init.path.rpartition(":")
            process = ReferenceProcess(
                Reference(file, function), self.setup.session / "generator.log", self.settings.reference_timeout_s
            )
            self.beat("generator", size, self.settings.reference_timeout_s + _GRACE_S)
            try:
                values = process.generate(arg, size, self.setup.seed + which)
            finally:
                process.close()
            save_generated(path, shaped(arg, values, arg.extent(size.env), np.dtype(arg.dtype), arg.init.path))
        loaded: Array = np.load(path, allow_pickle=False)
        return loaded

    def _reference_outputs(self, bench: Bench, which: int) -> dict[str, Array]:
        assert self._reference is not None
        self.beat("reference", bench.size, self.settings.reference_timeout_s + _GRACE_S)
        return self._reference.outputs(self.spec, bench.size, bench.inputs_of(which))

    def _baseline_outputs(
        self, bench: Bench, loaded: Loaded, call: Call, which: int
    ) -> tuple[dict[str, Array], dict[str, Array | None]]:
        """Outputs, and which elements are written: those that do not keep both poisons."""
        masks: list[dict[str, Array]] = []
        outputs: dict[str, Array] = {}
        for poison in POISONS:
            bench.load(call, which, Placement.TIGHT, poison)
            self.beat("baseline", bench.size)
            bench.run(loaded, call)
            if stray := bench.stray():
                raise EvaluatorError(f"the kernel itself is at fault: {stray}")
            outputs = bench.outputs()
            pure = [arg.name for arg in output_args(self.spec) if arg.role is Role.OUT]
            masks.append({name: poisoned(outputs[name], poison) for name in pure})
            if not any(mask.any() for mask in masks[-1].values()):
                return outputs, dict.fromkeys(outputs)
        both: dict[str, Array | None] = dict.fromkeys(outputs)
        for name, mask in masks[0].items():
            untouched = mask & masks[1][name]
            both[name] = ~untouched if untouched.any() else None
        return outputs, both

    def _judge_baseline(self, bench: Bench, outputs: Mapping[str, Array], expected: Mapping[str, Expected]) -> Verdict:
        if bench.checker is not None:
            verdict = bench.verdict(1.0)
            if verdict.status is not Status.OK:
                raise EvaluatorError(f"the untransformed kernel fails the checker: {verdict.message}")
            return verdict
        worst = 0.0
        for arg in output_args(self.spec):
            bound = bound_for(self.spec.tolerance, arg.dtype, expected[arg.name].values, self.settings.defences)
            verdict = judge(
                arg.name, outputs[arg.name], expected[arg.name], bound, None, 1.0, bench.size.label,
                self.settings.defences,
            )  # fmt: skip
            if verdict.status is not Status.OK:
                raise EvaluatorError(
                    f"the untransformed kernel does not match the reference, {verdict.message}: mend one of them, "
                    "or set `tolerance:` in the campaign if the difference is rounding"
                )
            worst = max(worst, verdict.error)
        return Verdict(error=worst)


def bind_all(station: Station, prepared: Prepared, sizes: tuple[ProblemSize, ...]) -> dict[str, Call | None]:
    """Calls by size label; None where the guard does not hold, so that the baseline runs."""
    variant = prepared.variant
    return {size.label: bind(station.spec, variant, size) if variant.guard.holds(size.env) else None for size in sizes}


def _exact(values: Array) -> Array:
    return values if values.dtype.kind in "iu" else values.astype("float64")

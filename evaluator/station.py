"""The state of a device process: one backend, one bench a size, the baseline, and the deadlines of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

import numpy as np

from evaluator.accounts import Stopwatch
from evaluator.api import EvaluatorError
from evaluator.backend import Backend, Loaded, Peaks, Placement
from evaluator.bench import Bench
from evaluator.correctness import POISONS, Verdict
from evaluator.elements import Array
from evaluator.inputs import EXTREME, SETS, fixed_inputs, shaped
from evaluator.messages import Beat, Prepared, Setup, Work
from evaluator.oracle import Reference, ReferenceProcess
from evaluator.plan import Call, bind, compulsory_bytes
from evaluator.result import Evaluation
from evaluator.session_inputs import session_inputs
from evaluator.standing import Oracle
from evaluator.store import input_file, load_oracle, save_array, save_oracle
from evaluator.turn import Turn
from genome.spec import ArgSpec, ProblemSize

TIMED = 0
"""The input set of timed runs: the one that is as the campaign describes it."""

_INPUTS_S = 600.0  # to draw one set
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
        self._oracles: dict[str, Oracle] = {}
        self.opening = Stopwatch()
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
            self._judges(self.new_bench(size, oracle.exponent), oracle)
        return self._benches[size.label]

    def oracle(self, size: ProblemSize) -> Oracle:
        """What judges a size, where its bench exists."""
        return self._oracles[size.label]

    @property
    def kernel_s(self) -> float:
        """Seconds in which the device ran kernels of variants, so far."""
        return sum(bench.kernel_ms for bench in self._benches.values()) * 1e-3

    def damaged(self) -> bool:
        """True if copies on the device are no longer what they were: see ``Bench.damaged``."""
        return any(bench.damaged() for bench in self._benches.values())

    def allowed_error(self, bench: Bench) -> float:
        """Largest error relative to the tolerance, with the inputs that are loaded."""
        return self._oracles[bench.size.label].allowed(bench.baseline_error, self.settings.baseline_error_factor)

    @property
    def sets(self) -> range:
        """Input sets of every size; the one of extreme magnitudes comes on top."""
        return range(SETS if self.settings.defences.second_inputs else 1)

    def adopt(self, bench: Bench, oracle: Oracle) -> None:
        """Lets an oracle judge a size from now on, here and in every process that starts later.

        Raises:
            EvaluatorError: If the disk has no room for it.
        """
        try:
            save_oracle(self.setup.session, self.spec, bench.size, oracle)
        except OSError as error:
            raise EvaluatorError(
                f"the right outputs at {bench.size.label} cannot be kept in {self.setup.session} ({error}): "
                "set XDG_CACHE_HOME to a folder with more room"
            ) from error
        self._judges(bench, oracle)

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

    def fill(self, sizes: Sequence[ProblemSize]) -> None:
        """Makes the inputs of some sizes, for all processes of the session."""
        for size in sizes:
            for which in self.sets:
                self.beat("inputs", size, _INPUTS_S)
                self._make(size, which)

    def new_bench(self, size: ProblemSize, exponent: int = 0) -> Bench:
        """A bench that nothing judges yet. ``exponent`` is that of the set of extreme magnitudes."""

        def make(which: int) -> Mapping[str, Array]:
            with self.opening.stage("opening: inputs"):
                return self._make(size, which, exponent)

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

    def ask_reference(self, bench: Bench, which: int) -> dict[str, Array] | None:
        """The reference's outputs with an input set; None if there is none that gives outputs. Blocks."""
        if self._reference is None or bench.checker is not None:
            return None
        self.beat("reference", bench.size, self.settings.reference_timeout_s + _GRACE_S)
        return self._reference.outputs(self.spec, bench.size, bench.inputs_of(which))

    def _judges(self, bench: Bench, oracle: Oracle) -> None:
        bench.expected, bench.baseline_errors, bench.exponent = oracle.expected, oracle.errors, oracle.exponent
        self._benches[bench.size.label], self._oracles[bench.size.label] = bench, oracle

    def _make(self, size: ProblemSize, which: int, exponent: int = 0) -> Mapping[str, Array]:
        setup = self.setup
        return session_inputs(
            setup.session, self.spec, size, setup.seed, which, self.perturb, exponent, self._generate
        )  # fmt: skip

    def _generate(self, arg: ArgSpec, size: ProblemSize, which: int) -> Array:
        """An array of the user's own function, called once in a session."""
        path = input_file(self.setup.session, size, arg.name, which, "generated")
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
            save_array(path, shaped(arg, values, arg.extent(size.env), arg.init.path))
        loaded: Array = np.load(path, allow_pickle=False)
        return loaded


def bind_all(station: Station, prepared: Prepared, sizes: tuple[ProblemSize, ...]) -> dict[str, Call | None]:
    """Calls by size label; None where the guard does not hold, so that the baseline runs."""
    variant = prepared.variant
    return {size.label: bind(station.spec, variant, size) if variant.guard.holds(size.env) else None for size in sizes}

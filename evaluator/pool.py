"""LocalEvaluator: one device with its compilers on this machine, in processes that may die at any moment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import wait
from types import TracebackType

from evaluator.accounts import Accounts, StageCost
from evaluator.api import Comparison, Compiled, EvaluatorError, Event, Measured
from evaluator.arrival import Arrival
from evaluator.beside import Beside, threads_beside
from evaluator.binaries import PROOF_TICKET, Binaries
from evaluator.compare import with_remark
from evaluator.desk import DeviceDesk
from evaluator.devices import environment_of, facts_of
from evaluator.drift import DriftWatch
from evaluator.farm import CompilerFarm
from evaluator.lane import Lane
from evaluator.messages import FillJob, Prepared, RestoreJob, Setup, Work
from evaluator.opening import no_binary, open_baseline_on
from evaluator.oracle import Reference
from evaluator.plan import tighter
from evaluator.probe import peaks_of
from evaluator.proof import Proof
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from evaluator.second_looks import SecondLooks
from evaluator.session import Session
from evaluator.settings import EvaluatorSettings
from evaluator.waiting import Say, silent
from genome.limits import DeviceLimits
from genome.spec import KernelSpec
from genome.variant import Target, Variant

_AHEAD = 2  # variants in the device process: it never waits for this one. A CPU device times alone.


class LocalEvaluator:
    """Implements ``evaluator.api.Evaluator``.

    Work moves on inside every call: nothing runs in the background of this process. Not for use from several threads.

    Args:
        spec: The kernel with its sizes.
        device: ``auto``, ``opencl:0``, ...
        settings: Deadlines, samples, caches.
        reference: The user's own oracle; None takes the untransformed kernel.
        seed: Of inputs and bootstraps.
        work: Operations by size label, for the roofline; sizes that are left out count the arguments' bytes.

    Raises:
        EvaluatorError: If there is no such device, or the cache folder cannot be written.
    """

    def __init__(
        self, spec: KernelSpec, device: str, settings: EvaluatorSettings, reference: Reference | None, seed: int,
        work: Mapping[str, Work] | None = None,
    ) -> None:  # fmt: skip
        self._facts = facts_of(device)
        self._spec, self._settings, self._seed = spec, settings, seed
        self._session = Session(settings.cache_dir)
        folder = self._session.folder
        self._peaks = peaks_of(self._facts, settings.cache_dir, folder)
        self._setup = Setup(
            spec, self._facts.info.id, settings, reference, seed, folder, self._peaks, dict(work or {}),
            beside=reference is not None and reference.kind == "numpy" and bool(spec.check_sizes),
        )  # fmt: skip
        self._environment = environment_of(self._facts.info, folder)
        self._farm = CompilerFarm([self._lane("compiler", index) for index in range(settings.compiler_count())])
        self._accounts = Accounts()
        every = settings.retime_every if settings.defences.drift else 0
        watch = DriftWatch(every, self._facts.info.kind == "cpu")
        self._on_gpu = self._facts.info.kind == "gpu"
        ahead = _AHEAD if self._on_gpu else 1
        self._desk = DeviceDesk(self._lane("worker", 0), spec, watch, self._accounts, ahead)
        beside = Beside(folder / "beside.log", threads_beside(self._on_gpu), pauses=not self._on_gpu)
        self._arrival = Arrival(beside, self._desk, settings.reference_timeout_s)
        on_cuda = self._facts.target is Target.CUDA
        self._looks = SecondLooks(self._environment, folder, on_cuda, settings.defences.sanitizer)
        memory = self._facts.info.memory_bytes // settings.objective.most_at_once
        self._binaries = Binaries(
            self._farm, self._accounts, spec, settings, self.limits, memory if settings.defences.memory else None,
            self._on_gpu,
        )  # fmt: skip
        self._events: list[Event] = []
        self._baseline: tuple[Evaluation, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._started = self._closed = False

    @property
    def device(self) -> DeviceInfo:
        """The hardware, with its measured bandwidth and peak."""
        return replace(self._facts.info, bandwidth_gbs=self._peaks.bandwidth_gbs, peak_gflops=self._peaks.gflops)

    @property
    def toolchain(self) -> Toolchain:
        """Driver and compiler, and what else than one call alone is timed: such timings are kept apart."""
        return self._settings.objective.keyed(self._facts.toolchain)

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits: the device's, or the campaign's where those are tighter."""
        return tighter(self._facts.limits, self._spec.limits)

    @property
    def target(self) -> Target:
        """The language it compiles."""
        return self._facts.target

    @property
    def costs(self) -> tuple[StageCost, ...]:
        """What each stage of the cascade cost and threw out so far."""
        return self._accounts.costs()

    @property
    def kernel_seconds(self) -> float:
        """Seconds in which the device ran kernels of variants: what is left of its time went elsewhere."""
        return self._accounts.kernel_s

    @property
    def drift(self) -> Mapping[str, float]:
        """How much longer the baseline took when it was last timed than at first, by size label; empty until then."""
        return dict(self._desk.drift.factors)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of this evaluator's checks."""
        return self._notes

    @property
    def worker_pid(self) -> int | None:
        """Process id of the device process, while there is one."""
        return self._desk.lane.pid

    def start(self) -> None:
        """Starts the processes, which takes them a while, ahead of ``open``. Idempotent."""
        self._check_open()
        if not self._started:
            self._started = True
            self._begin(self._setup)
            if self._on_gpu:
                self._farm.start()

    def open(self, baseline: Variant, say: Say = silent) -> Measured:
        """See ``Evaluator.open``."""
        self._check_open()
        began = time.monotonic()
        self.start()
        prepared = self._compile_now(baseline)
        if isinstance(prepared, Compiled):
            raise no_binary(prepared, self._settings.cache_dir)
        opened = open_baseline_on(self._desk.lane, self._setup, prepared, self._begin, say)
        measured, self._setup, self._notes = opened.measured, opened.setup, opened.notes
        self._baseline = measured.evaluations
        self._binaries.judge_by(self._baseline)
        self._desk.lane.greeting = [self._setup, RestoreJob(prepared, self._baseline)]
        if self._on_gpu:
            self._desk.lane.stand_by()
        self._desk.drift.start(self._baseline)
        self._desk.learn(measured)
        self._accounts.book_opening(opened.outcome.spent, time.monotonic() - began)
        self._arrival.expect(opened.outcome.awaited)
        self._arrival.look()
        return measured

    def settle(self, say: Say = silent, give_up: Callable[[], bool] = lambda: False) -> str:
        """See ``Evaluator.settle``."""
        self._check_open()
        return self._arrival.settle(self._pump, say, give_up)

    def compile(self, ticket: int, variant: Variant) -> None:
        """See ``Evaluator.compile``."""
        self._check_open()
        if (refused := self._binaries.submit(ticket, variant)) is not None:
            self._events.append(refused)
            return
        self._pump(0.0)

    def measure(self, ticket: int) -> None:
        """See ``Evaluator.measure``."""
        self._check_open()
        prepared = self._binaries.take(ticket)
        if prepared is None:
            raise EvaluatorError(f"ticket {ticket} was not compiled, or was measured or discarded before")
        self._desk.submit(ticket, prepared)
        self._pump(0.0)

    def discard(self, ticket: int) -> None:
        """See ``Evaluator.discard``."""
        self._binaries.take(ticket)

    def events(self, timeout_s: float | None) -> list[Event]:
        """See ``Evaluator.events``. Returns at once, and empty, if nothing is under way."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        self._pump(0.0)
        while not self._events and self._pending and (left := deadline - time.monotonic()) > 0.0:
            self._pump(left)
        events, self._events = self._events, []
        return events

    def compare(
        self, baseline: Variant, champions: Sequence[Variant], processes: int, progress: Callable[[int, int], None]
    ) -> tuple[Comparison, ...]:
        """See ``Evaluator.compare``. Work under way is finished first; its events stay for ``events``."""
        self._check_open()
        remark = self.settle()
        while self._pending:
            self._pump(math.inf)
        start = self._compile_now(baseline)
        if isinstance(start, Compiled):
            raise no_binary(start, self._settings.cache_dir)
        compiled = [self._compile_now(variant) for variant in champions]
        prepared = [found.message if isinstance(found, Compiled) else found for found in compiled]
        if self._on_gpu:
            self._desk.lane.stop()  # its buffers and copies may leave no room on the device, and the proof is alone
        greeting = [self._setup, RestoreJob(start, self._baseline)]
        lane = Lane("evaluator.worker", self._session.folder / "proof.log", self._environment, greeting)
        proof = Proof(lane, self._spec, self._seed, self._settings)
        comparisons = proof.run(start, prepared, [variant.digest() for variant in champions], processes, progress)
        known = self._desk.lane.greeting
        looked = [self._looks.inspected(*pair, known) for pair in zip(comparisons, prepared, strict=True)]
        return tuple(with_remark(comparison, remark) for comparison in looked)

    def counted(self, variant: Variant, evaluation: Evaluation) -> Evaluation:
        """The evaluation with hardware counters in its profile, where a profiler may read them (blocks for seconds).

        Everywhere else, and for a fallback, it comes back as it is.
        """
        self._check_open()
        size = next((size for size in self._spec.sizes if size.label == evaluation.size), None)
        if not self._looks.counts or size is None or evaluation.profile is None or evaluation.fallback:
            return evaluation
        prepared = self._compile_now(variant)
        if isinstance(prepared, Compiled):
            return evaluation
        return self._looks.counted(evaluation, prepared, size, self._desk.lane.greeting)

    def close(self) -> None:
        """See ``Evaluator.close``."""
        if not self._closed:
            self._closed = True
            self._arrival.stop()
            self._farm.stop()
            self._desk.lane.stop()
            self._session.close()

    def __enter__(self) -> LocalEvaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _pending(self) -> bool:
        return self._farm.pending or self._desk.pending

    def _begin(self, setup: Setup) -> None:
        """Starts the device process with a setup, and the reference beside it."""
        self._desk.lane.greeting = [setup, FillJob()]
        self._desk.lane.start()
        self._arrival.begin(setup)

    def _lane(self, role: str, index: int) -> Lane:
        log = self._session.folder / f"{role}-{index}.log"
        return Lane(f"evaluator.{role}", log, self._environment, [self._setup])

    def _check_open(self) -> None:
        if self._closed:
            raise EvaluatorError("this evaluator is closed")

    def _compile_now(self, variant: Variant) -> Prepared | Compiled:
        """Compiles and waits: the binary, or why there is none. Other events stay queued."""
        if (known := self._binaries.known(variant.digest())) is not None:
            return known
        self.compile(PROOF_TICKET, variant)
        while True:
            for event in self._events:
                if isinstance(event, Compiled) and event.ticket == PROOF_TICKET:
                    self._events.remove(event)
                    return self._binaries.take(PROOF_TICKET) or event
            self._pump(math.inf)

    def _pump(self, timeout_s: float) -> None:
        """Gives out work, waits for one pipe or deadline at most ``timeout_s``, and collects what has ended."""
        self._farm.dispatch()
        self._desk.dispatch()
        busy = self._farm.busy() + self._desk.busy() + self._arrival.busy()
        if busy and timeout_s > 0.0:
            left = min(timeout_s, *(seconds for _, seconds in busy))
            wait([connection for connection, _ in busy], timeout=None if left == math.inf else left)
        self._events += self._binaries.collect()
        while (measured := self._desk.collect()) is not None:
            self._events.append(measured)
        self._arrival.look()
        self._farm.dispatch()
        self._desk.dispatch()

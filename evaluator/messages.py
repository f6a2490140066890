"""What the processes of one evaluator say to each other. Internal: never stored, never read from elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.accounts import Spent
from evaluator.backend import Binary, Peaks
from evaluator.oracle import Reference
from evaluator.result import Evaluation, Status, Timing
from evaluator.settings import EvaluatorSettings
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Variant


@dataclass(frozen=True)
class Work:
    """Operations of a size.

    Attributes:
        flops: Floating-point operations; 0 unknown.
        bytes: Compulsory bytes; 0 takes the arguments'.
        exact: False if ``flops`` is an estimate, by which no timing may be refused.
    """

    flops: float = 0.0
    bytes: float = 0.0
    exact: bool = False


@dataclass(frozen=True)
class Setup:
    """First message to a compiler or device process.

    Attributes:
        spec, settings, reference, seed: As given to the evaluator.
        device: Device id.
        session: Folder of this evaluator's files (oracle arrays, caches, locks), gone when it closes.
        peaks: Measured ceilings.
        work: Operations by size label.
        perturb: Change fixed inputs in the second set; False after the baseline failed with them changed.
        beside: A process of its own asks the reference at the tuned sizes, and leaves its answers in ``session``.
    """

    spec: KernelSpec
    device: str
    settings: EvaluatorSettings
    reference: Reference | None
    seed: int
    session: Path
    peaks: Peaks = field(default_factory=Peaks)
    work: Mapping[str, Work] = field(default_factory=dict)
    perturb: bool = True
    beside: bool = False


@dataclass(frozen=True)
class Beat:
    """I am about to do something that may hang: the parent kills the process ``allowed_s`` after ``at``."""

    stage: str
    size: str = ""
    allowed_s: float = math.inf
    variant: str = ""
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class CompileJob:
    """To a compiler. ``compile_s`` and ``trial_s`` bound the compilation and its first launch, in seconds."""

    ticket: int
    variant: Variant
    salt: str
    compile_s: float
    trial_s: float


@dataclass(frozen=True)
class Built:
    """From a compiler."""

    ticket: int
    status: Status
    message: str
    binary: Binary | None
    compile_s: float


@dataclass(frozen=True)
class Prepared:
    """A variant with its binary."""

    variant: Variant
    binary: Binary
    compile_s: float = 0.0


@dataclass(frozen=True)
class FillJob:
    """To a device process, without an answer: make the inputs of the tuned sizes, while others compile."""


@dataclass(frozen=True)
class OpenJob:
    """To a device process: build the oracle with the baseline, verify and time it."""

    baseline: Prepared


@dataclass(frozen=True)
class RestoreJob:
    """To a replaced device process: the oracle lies on disk, the baseline's evaluations are known."""

    baseline: Prepared
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True)
class MeasureJob:
    """To a device process: take a variant through the cascade. ``best_ms`` is the best time by size label so far."""

    ticket: int
    prepared: Prepared
    best_ms: Mapping[str, float]


@dataclass(frozen=True)
class SettleJob:
    """To a device process: the reference's answers at a size are on disk; compare the baseline with them."""

    size: ProblemSize


@dataclass(frozen=True)
class Settled:
    """The reference judges this size from now on; or what is wrong with the baseline, by its word."""

    size: ProblemSize
    failure: str = ""


@dataclass(frozen=True)
class RetimeJob:
    """To a device process: time the baseline again at the tuned sizes."""


@dataclass(frozen=True)
class Retimed:
    """The baseline's timing now, by size label."""

    timings: Mapping[str, Timing]
    seconds: float = 0.0


@dataclass(frozen=True)
class CompareJob:
    """To a fresh device process: verify all these and time them interleaved; the first one is the baseline."""

    prepared: tuple[Prepared, ...]
    budget_s: float
    turn: int


@dataclass(frozen=True)
class CountJob:
    """To a device process under a profiler: run this once at a size, then end. It answers with the size's label."""

    prepared: Prepared
    size: ProblemSize


@dataclass(frozen=True)
class RehearseJob:
    """To a device process under a sanitizer: run this at the small check sizes, then end."""

    prepared: Prepared


@dataclass(frozen=True)
class Rehearsed:
    """What the outputs were like; empty if right."""

    failure: str


@dataclass(frozen=True)
class Outcome:
    """Evaluations of a job: tuned sizes and check sizes; what it took; tuned sizes whose reference is awaited; what a
    person should know of it.
    """

    evaluations: tuple[Evaluation, ...]
    checks: tuple[Evaluation, ...]
    spent: Spent = field(default_factory=Spent)
    awaited: tuple[ProblemSize, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compared:
    """Of one fresh process: for each variant its timings by size label, failure (empty if none) and check results.

    ``energies`` are millijoules of a call by size label, where those are what is optimised; empty otherwise.
    """

    timings: tuple[Mapping[str, Timing], ...]
    failures: tuple[str, ...]
    checks: tuple[tuple[Evaluation, ...], ...]
    energies: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True)
class Fatal:
    """The baseline, the reference or the device is unusable."""

    message: str


@dataclass(frozen=True)
class AskPlan:
    """To the process beside the search: what to ask the reference.

    Attributes:
        setup: Of the evaluator.
        sizes: In this order.
        pauses: Stop while the device times, which has the same cores.
    """

    setup: Setup
    sizes: tuple[ProblemSize, ...]
    pauses: bool


@dataclass(frozen=True)
class Asking:
    """From that process: the reference works on an input set of a size from now on."""

    size: ProblemSize
    which: int


@dataclass(frozen=True)
class Answered:
    """From that process: all answers at a size are on disk."""

    size: ProblemSize


@dataclass(frozen=True)
class Refused:
    """From that process: no further answers will come. ``fault`` is False where there was no memory for them."""

    message: str
    fault: bool = True

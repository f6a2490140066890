"""A part of the random genomes: one kernel, one seed, one evaluator, until a quota or a deadline is reached."""

from __future__ import annotations

import re
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from genome_walks import BY_HAND, known_genomes, walks

from evaluator.api import Compiled, EvaluatorError, Measured
from evaluator.oracle import Reference
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from evo.campaign import load_campaign
from evo.wire import transforms
from genome.genes import Genome
from genome.lower import lower
from genome.spec import KernelSpec
from genome.variant import Rejection, Variant
from tests.property.test_transforms_execute import CASES, Case, size_of, spec_of

EXAMPLES = BY_HAND.parent.parent / "examples"

SIZES: dict[str, tuple[str, ...]] = {
    "conv3x3": ("IC=8,OC=16,H=16,W=32", "IC=3,OC=5,H=19,W=67", "IC=1,OC=1,H=1,W=7", "IC=7,OC=2,H=5,W=131"),
    "dense/product": ("M=64,N=64,K=64", "M=67,N=131,K=29", "M=5,N=3,K=7", "M=1,N=257,K=61"),
    "dense/bias_gelu": ("M=64,N=256", "M=67,N=131", "M=5,N=3", "M=257,N=1"),
    "gelu": ("n=16384", "n=10007", "n=5", "n=1021"),
    "gemv": ("M=128,N=256", "M=131,N=67", "M=3,N=1", "M=17,N=1031"),
    "half_gemm": ("M=128,N=256,K=64", "M=131,N=264,K=72", "M=17,N=1,K=3", "M=97,N=72,K=61"),
    "histogram": ("n=65536", "n=10007", "n=5", "n=1021"),
    "layernorm": ("rows=32,cols=256", "rows=131,cols=67", "rows=3,cols=2", "rows=17,cols=1031"),
    "matmul": ("M=64,N=128,K=64", "M=97,N=131,K=61", "M=17,N=1,K=3", "M=131,N=36,K=202"),
    "nbody": ("n=512", "n=331", "n=5", "n=127"),
    "softmax": ("rows=32,cols=256", "rows=131,cols=67", "rows=3,cols=1", "rows=17,cols=1031"),
    "stencil": ("W=128,H=64", "W=101,H=67", "W=3,H=129", "W=257,H=5"),
    "sum": ("n=16384", "n=10007", "n=5", "n=1021"),
    "transpose": ("W=128,H=192", "W=101,H=67", "W=1,H=255", "W=257,H=3"),
    "vector_add": ("n=16384", "n=10007", "n=5", "n=1021"),
}
"""A size that every tile divides, so that variants with a guard run too, and three awkward ones: a prime tail, less
than a block, and one that is much longer one way than the other."""

CUDA_ONLY = ("half_gemm",)

TESTS = "tests/"
"""What the names of the kernels begin with that were written for tests; the untransformed kernel is their oracle."""

_UNDECIDED = (Status.LIMIT, Status.OUT_OF_MEMORY, Status.COMPILE_TIMEOUT, Status.IMPOSSIBLE, Status.TIMEOUT)
_DULL = 400  # draws in a row that bring nothing new end a part: the kernel has no more


@dataclass(frozen=True)
class Ask:
    """What a part is to do. ``until`` is a monotonic time of the machine; ``cache`` is shared by all parts."""

    kernel: str
    device: str
    seed: int
    part: int
    quota: int
    until: float
    compilers: int
    cache: str
    seen: frozenset[str] = frozenset()


@dataclass
class Found:
    """What a part saw: outcomes by count, digests of genomes and sources, every failure, and what came to no end."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    genomes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    transforms: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    unfinished: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Subject:
    """A kernel at the sizes that count here: the first is tuned, the others are checked."""

    spec: KernelSpec
    reference: Reference | None = None
    seed: int = 1


def subject(kernel: str) -> Subject:
    """A kernel of ``SIZES``, or of the tests."""
    if kernel.startswith(TESTS):
        case = kernels_of_tests()[kernel]
        return Subject(_at(spec_of(case), case.sizes))
    example, _, entry = kernel.partition("/")
    own = BY_HAND / example / "campaign.yaml"
    campaign = load_campaign(own if own.exists() else EXAMPLES / example / "campaign.yaml", entry=entry)
    return Subject(_at(campaign.spec, SIZES[kernel]), campaign.reference, campaign.seed)


def kernels_of_tests() -> dict[str, Case]:
    """Kernels of the tests by name."""
    return {f"{TESTS}{case.name}": case for case in CASES}


def _at(spec: KernelSpec, texts: Sequence[str]) -> KernelSpec:
    sizes = tuple(size_of(text) for text in texts)
    return replace(spec, sizes=sizes[:1], check_sizes=sizes[1:])


def run_part(ask: Ask) -> Found:
    """Draws, lowers, compiles and executes. Timing is cut to a few runs: only the outputs count."""
    about = subject(ask.kernel)
    spec = about.spec
    settings = EvaluatorSettings(
        cache_dir=Path(ask.cache), compilers=ask.compilers, min_samples=1, max_samples=1, sample_budget_s=0.0,
        repeats=2, retime_every=1 << 30, cutoff=1e9, impossible_margin=0.0,
    )  # fmt: skip
    with LocalEvaluator(spec, ask.device, settings, about.reference, about.seed) as evaluator:
        baseline = lower(spec, Genome(), transforms(), evaluator.target, evaluator.limits)
        if isinstance(baseline, Rejection):
            raise RuntimeError(f"{ask.kernel}: {baseline.reason}")
        try:
            evaluator.open(baseline)
            evaluator.settle()
        except EvaluatorError as error:  # a kernel whose results depend on the order of its threads, say
            return Found(Counter({"no part: the kernel itself is refused": 1}), Counter({str(error)[:300]: 1}))
        return _Part(ask, spec, evaluator).run()


class _Part:
    """The loop between the draws and the evaluator, with its books."""

    def __init__(self, ask: Ask, spec: KernelSpec, evaluator: LocalEvaluator) -> None:
        self._ask, self._spec, self._evaluator = ask, spec, evaluator
        self._found = Found()
        self._under_way: dict[int, Variant] = {}
        self._executed = 0

    def run(self) -> Found:
        """Until the quota is executed, the time is over, or the draws bring nothing new."""
        ahead, quota = 2 * self._ask.compilers + 2, self._ask.quota
        for ticket, variant in enumerate(self._variants()):
            self._evaluator.compile(ticket, variant)
            self._under_way[ticket] = variant
            self._collect(0.0)
            while len(self._under_way) >= min(ahead, quota - self._executed) > 0:
                self._collect(None)
            if self._executed >= quota or time.monotonic() >= self._ask.until:
                break
        while self._under_way:
            self._collect(None)
        return self._found

    def _variants(self) -> Iterator[Variant]:
        """Variants of new sources; what becomes of the other genomes is counted."""
        ask, evaluator, found = self._ask, self._evaluator, self._found
        example = ask.kernel.partition("/")[0]
        rng = np.random.default_rng([ask.seed, ask.part])
        known = known_genomes(self._spec, example, evaluator.target, evaluator.limits, evaluator.device)
        genomes, sources, dull = set(ask.seen), set(ask.seen), 0
        for genome in walks(self._spec, known, evaluator.target, evaluator.limits, rng):
            dull += 1
            if dull > _DULL or time.monotonic() >= ask.until:
                return
            found.counts["drawn"] += 1
            digest = genome.digest()
            if digest in genomes:
                found.counts["drawn again"] += 1
                continue
            genomes.add(digest)
            found.genomes.append(digest)
            try:
                variant = lower(self._spec, genome, transforms(), evaluator.target, evaluator.limits)
            except Exception:  # whatever it is, it is a mistake of the engine, and the next genome may go
                self._fail_to_lower(genome, traceback.format_exc())
                continue
            if isinstance(variant, Rejection):
                found.counts["rejected"] += 1
                found.reasons[_kind(variant.reason)] += 1
                continue
            found.counts["lowered"] += 1
            if variant.digest() in sources:
                found.counts["same source as another"] += 1
                continue
            sources.add(variant.digest())
            found.sources.append(variant.digest())
            found.transforms.update({gene.transform for gene in variant.genome.genes})
            dull = 0
            yield variant

    def _collect(self, timeout_s: float | None) -> None:
        """Sends what is compiled to the device, and books what ended."""
        for event in self._evaluator.events(timeout_s):
            if isinstance(event, Compiled) and event.status is Status.OK:
                self._found.counts["compiled"] += 1
                self._evaluator.measure(event.ticket)
                continue
            variant = self._under_way.pop(event.ticket)
            if isinstance(event, Compiled):
                self._book_uncompiled(variant, event)
            else:
                self._book_executed(variant, event)

    def _book_uncompiled(self, variant: Variant, event: Compiled) -> None:
        if event.status in _UNDECIDED:
            self._leave(variant, "", event.status, event.message)
            return
        what = "uncompilable" if event.status is Status.COMPILE_ERROR else "the compiler died"
        self._fail(what, variant, "", event.status, event.message)

    def _book_executed(self, variant: Variant, event: Measured) -> None:
        failure = event.failure
        self._executed += 1
        if failure is None:
            ran = any(not evaluation.fallback for evaluation in (*event.evaluations, *event.checks))
            self._found.counts["right" if ran else "its guard holds at no size"] += 1
        elif failure.status in _UNDECIDED:
            self._leave(variant, failure.size, failure.status, failure.message)
        else:
            self._fail("wrong", variant, failure.size, failure.status, failure.message)

    def _leave(self, variant: Variant, size: str, status: Status, message: str) -> None:
        """Nothing is known of it: too large for the device, or too slow to wait for (kept, in case it is endless)."""
        self._found.counts[f"undecided: {status.value}"] += 1
        self._found.reasons[_kind(message)] += 1
        if status is Status.TIMEOUT:
            self._found.unfinished.append(self._row(variant, size, status, message))

    def _fail(self, what: str, variant: Variant, size: str, status: Status, message: str) -> None:
        self._found.counts[what] += 1
        self._found.failures.append({"what": what, **self._row(variant, size, status, message)})

    def _fail_to_lower(self, genome: Genome, message: str) -> None:
        self._found.counts["raised"] += 1
        self._found.failures.append({
            "what": "raised", "kernel": self._ask.kernel, "size": "", "message": message[-1500:],
            "genome": genome.to_json(), "seed": self._ask.seed, "part": self._ask.part,
        })  # fmt: skip

    def _row(self, variant: Variant, size: str, status: Status, message: str) -> dict[str, Any]:
        return {
            "kernel": self._ask.kernel, "status": status.value, "size": size, "message": message[:1500],
            "genome": variant.proposed.to_json(), "digest": variant.digest(), "seed": self._ask.seed,
            "part": self._ask.part,
        }  # fmt: skip


def _kind(text: str) -> str:
    """A reason without its numbers and names, so that reasons of a kind count together."""
    return re.sub(r"'[^']*'", "'...'", re.sub(r"\d+", "N", text))[:160]

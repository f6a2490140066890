"""What a person may set about an evaluation: deadlines, sample counts, target intervals, caches."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.cache import DiskCache
from evaluator.defences import Defences
from evaluator.objective import Objective

_PATIENCE = 10.0  # the baseline may take this many times the deadline of a run: nobody knows its time yet
_GRACE_S = 2.0
_NO_CAP = 1 << 40
_SLOWDOWN = 10.0  # a variant that many times slower (to run, to compile) than the baseline is not worth waiting for


def default_cache_dir() -> Path:
    """``$XDG_CACHE_HOME/evo-tune``, or ``~/.cache/evo-tune``."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if root else Path.home() / ".cache") / "evo-tune"


@dataclass(frozen=True)
class EvaluatorSettings:
    """Frozen settings of one evaluator.

    Attributes:
        compile_timeout_s: Longest compilation, in seconds; less where the baseline compiles fast.
        run_timeout_s: Longest single run of a variant, in seconds; less where the baseline is fast, ten times as much
            for the baseline itself.
        reference_timeout_s: Longest call of the user's reference, its imports included; where it works beside the
            search, longest wait for it at the end.
        reference_patience_s: Wait for the reference at the tuned sizes before the search begins without its answer.
        compilers: Compiler processes; 0 takes one less than the cores, at least one.
        min_samples, max_samples: Timed runs of a size. A run that takes longer than the whole sampling budget is
            still timed ``min_samples`` times for the baseline, once for a variant that is cut off.
        sample_budget_s: Seconds of sampling after which a size ends, tight interval or not.
        target_gpu, target_cpu: Half width of the 95% interval of the median, relative to it, at which sampling ends.
            The CPU's is looser because its clock and caches are shared with everything else on the machine.
        cutoff: A variant slower than this multiple of the best time at a size is timed with few samples only.
        cold_cache: Evict the last-level cache before every timed run, outside of the window.
        flush_cap_bytes: Most bytes written to evict a CPU's (they report shared caches of hundreds of megabytes); a
            GPU's is evicted whole.
        baseline_error_factor: A variant may err by this multiple of the baseline's own error, if that is more than
            the tolerance.
        impossible_margin: A time below this share of the roofline's bound is refused.
        proof_budget_s: Seconds of timing in each fresh process of the final proof.
        repeats: Runs of each small check size that must all be right.
        soak_s: Seconds of runs in a row, in each fresh process of the final proof, before its last comparison.
        retime_every: Variants after which the baseline is timed again; a new best time asks for it as well.
        objective: What is timed, and which bounds hold meanwhile.
        defences: What may be switched off by a test, and by nobody else.
        cache_dir: Where measured device peaks, compilations and the files of sessions are kept.
        compiled_bytes: Most bytes of compilations that are kept for later campaigns.
    """

    compile_timeout_s: float = 30.0
    run_timeout_s: float = 10.0
    reference_timeout_s: float = 120.0
    reference_patience_s: float = 1.0
    compilers: int = 0
    min_samples: int = 5
    max_samples: int = 40
    sample_budget_s: float = 0.6
    target_gpu: float = 0.01
    target_cpu: float = 0.02
    cutoff: float = 4.0
    cold_cache: bool = True
    flush_cap_bytes: int = 64 * 1024 * 1024
    baseline_error_factor: float = 4.0
    impossible_margin: float = 0.5
    proof_budget_s: float = 2.0
    repeats: int = 4
    soak_s: float = 0.3
    retime_every: int = 10
    objective: Objective = field(default_factory=Objective)
    defences: Defences = field(default_factory=Defences)
    cache_dir: Path = field(default_factory=default_cache_dir)
    compiled_bytes: int = 1 << 30

    def run_deadline_s(self, baseline_ms: float | None) -> float:
        """Longest single run where a call of the baseline takes that long; None while that is not known."""
        if not self.defences.deadlines:
            return math.inf
        if baseline_ms is None:
            return self.run_timeout_s * _PATIENCE
        run_s = 1e-3 * baseline_ms * self.objective.most_at_once
        return min(max(self.run_timeout_s, 2.0 * run_s), _GRACE_S + _SLOWDOWN * run_s)

    def compile_deadline_s(self, baseline_s: float | None, floor_s: float = 0.0) -> float:
        """Longest compilation where the baseline's takes that long, ``floor_s`` at least; None: that is not known."""
        if not self.defences.deadlines:
            return math.inf
        if baseline_s is None:
            return self.compile_timeout_s
        return min(self.compile_timeout_s, max(floor_s, _GRACE_S + _SLOWDOWN * baseline_s))

    def target(self, kind: str) -> float:
        """Target interval for a device kind, ``gpu`` or ``cpu``."""
        return self.target_gpu if kind == "gpu" else self.target_cpu

    def flush_cap(self, kind: str) -> int:
        """Most bytes that evict the last-level cache of a device kind."""
        return _NO_CAP if kind == "gpu" else self.flush_cap_bytes

    def compiler_count(self) -> int:
        """Compiler processes to start."""
        return self.compilers or max(1, (os.cpu_count() or 2) - 1)

    def compilations(self) -> DiskCache:
        """The cache of compilations, which all campaigns of a user share."""
        return DiskCache(self.cache_dir / "compiled", self.compiled_bytes)

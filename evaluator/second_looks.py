"""NVIDIA's own tools, where they are on PATH: the sanitizer for finalists, the profiler's counters for a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.api import Comparison
from evaluator.counting import count
from evaluator.cuda.counters import counted_profile, ncu
from evaluator.messages import Prepared
from evaluator.result import Evaluation
from evaluator.sanitize import inspect, sanitizer
from genome.spec import ProblemSize


class SecondLooks:
    """Runs a variant once more under a tool.

    Args:
        environment: Of device processes.
        folder: Of the session.
        on_cuda: False finds no tool: they are for NVIDIA's devices.
        sanitizes: False leaves the sanitizer out.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path, on_cuda: bool, sanitizes: bool) -> None:
        self._environment, self._folder = environment, folder
        self._sanitizer = sanitizer() if on_cuda and sanitizes else ""
        self._profiler = ncu() if on_cuda else ""

    @property
    def counts(self) -> bool:
        """True if there is a profiler."""
        return bool(self._profiler)

    def inspected(self, comparison: Comparison, prepared: Prepared | str, greeting: Sequence[Any]) -> Comparison:
        """A verified comparison after compute-sanitizer, where there is one for this device."""
        if not self._sanitizer or not comparison.verified or isinstance(prepared, str):
            return comparison
        seen = inspect(self._sanitizer, greeting, prepared, self._environment, self._folder)
        if seen.fault:
            return replace(comparison, verified=False, gain=False, message=f"compute-sanitizer, {seen.fault}")
        return replace(comparison, note="; ".join(filter(None, (comparison.note, seen.note))))

    def counted(
        self, evaluation: Evaluation, prepared: Prepared, size: ProblemSize, greeting: Sequence[Any]
    ) -> Evaluation:
        """The evaluation with hardware counters in its profile, where the profiler may read them."""
        if evaluation.profile is None:
            return evaluation
        found = count(self._profiler, greeting, prepared, size, self._environment, self._folder)
        return replace(evaluation, profile=counted_profile(evaluation.profile, found.values))

"""The parts of a running campaign, built once by ``evo.wire`` (or by a test) and handed down; nothing looks them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from evaluator.api import Evaluator
from evaluator.profile import Strain
from evaluator.result import Resources
from evo.coordinator import VERIFIER
from evo.guide import Guide
from evo.memory import Memory, NoMemory
from genome.genes import Gene, Genome
from genome.spec import ProblemSize, Reading
from genome.variant import Rejection, Variant
from knowledge.records import KernelRecord, TrainingRow
from operators.base import Agent, Moves


class SurrogateModel(Protocol):
    """A model of log2 speed-up and failure (``knowledge.surrogate.Surrogate``)."""

    def fit(self, rows: Sequence[TrainingRow]) -> None:
        """Learns from scratch."""

    def predict(
        self, genomes: Sequence[Genome], resources: Sequence[Resources] | None = None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Mean and standard deviation of log2 speed-up, and probability of failure, one each a genome.

        ``resources``: what the compiler said of each, for a model that is asked after compiling.
        """


@dataclass(frozen=True)
class Pipeline:
    """How far the engine works ahead.

    Attributes:
        ahead: Variants in flight at most, compiling ones included.
        measuring: Variants queued on the device at most. 1 on a CPU device, where thinking would disturb the timing.
    """

    ahead: int = 3
    measuring: int = 1


@dataclass(frozen=True)
class Parts:
    """Everything with a side effect, and the pure functions bound to this kernel and device.

    Attributes:
        evaluator: The device.
        lower: Genome to variant.
        moves: What applies on top of a genome.
        describe: A gene in words.
        agents: Authors of proposals.
        kernel: For the knowledge base.
        memory: The knowledge base, or ``NoMemory``.
        surrogate: Model that ranks proposals, or None.
        timing_surrogate: Model that decides which compiled variants are timed, or None.
        guide: Model of a table of configurations that proposes, or None where there is no such table.
        device_features: Vector of the device.
        size_features: One vector a tuned size, in campaign order.
        clock: Seconds, monotonic.
        contract: Digest of what counts as right (``evo.contract``).
        pipeline: Work ahead.
        versions: For the report.
        notes: Sentences for the user from building (a plug-in that was skipped, say).
        reading: What the kernel is printed from.
        strain: What a variant's text says of atomics and divergence; None where there is no source.
        read_as: The same parts with the kernel printed from something else; None where there is no source.
        misreading: What shows that the kernel was not read as it stands; "" if nothing does.
    """

    evaluator: Evaluator
    lower: Callable[[Genome], Variant | Rejection]
    moves: Moves
    describe: Callable[[Gene], str]
    agents: tuple[Agent, ...]
    kernel: KernelRecord
    clock: Callable[[], float]
    memory: Memory = field(default_factory=NoMemory)
    surrogate: SurrogateModel | None = None
    timing_surrogate: SurrogateModel | None = None
    guide: Guide | None = None
    device_features: tuple[float, ...] = ()
    size_features: tuple[tuple[float, ...], ...] = ((),)
    pipeline: Pipeline = field(default_factory=Pipeline)
    contract: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reading: Reading = Reading.BOTH
    strain: Callable[[Variant, ProblemSize], Strain] | None = None
    read_as: Callable[[Reading], Parts] | None = None
    misreading: Callable[[], str] = str

    @property
    def second_looks(self) -> bool:
        """True if somebody has doubted results measured again; without, a doubt would never end."""
        return any(agent.name == VERIFIER for agent in self.agents)

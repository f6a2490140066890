"""One campaign on a recorded space, as ``search_efficiency.py`` runs hundreds of them, each in a process of its own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from evaluator.recording import Recording, read_recording
from evaluator.replay import ReplayEvaluator
from evo.campaign_replay import recorded_space
from evo.campaign_types import Budget, Campaign
from evo.engine import evolve
from evo.memory import NoMemory
from evo.progress import SilentObserver
from evo.recorded import SIZE
from evo.wire_replay import BLIND as PROPOSING
from evo.wire_replay import assemble_replay
from operators.base import Agent
from operators.crossover import Crossover
from operators.local_search import LocalSearch

WORST = 1000.0
"""What counts where nothing has run yet."""
MISLEADING = ("permuted", "reversed", "foreign")
"""Histories that tell something else than the truth: times of the other devices dealt out anew, the slowest as the
fastest, and those of devices of another vendor alone."""
BLIND: tuple[Agent, ...] = (*PROPOSING, Crossover(), LocalSearch())
AGENTS = tuple(agent.name for agent in BLIND)
"""Who can search where no model does: those who do, and others of the campaigns on kernels."""
DEFAULT = tuple(agent.name for agent in PROPOSING)


@dataclass(frozen=True)
class Task:
    """One run.

    Attributes:
        file: The space.
        seed: Of the campaign.
        evaluations: Its budget.
        siblings: Recordings of the same kernel on other devices, as history.
        mislead: One of ``MISLEADING``, or "" for the truth.
        agents: Who searches instead of the model; empty for the model.
    """

    file: Path
    seed: int
    evaluations: int
    siblings: tuple[Path, ...] = ()
    mislead: str = ""
    agents: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """What tells runs of one space and seed apart."""
        agents = f", agents {'+'.join(sorted(self.agents))}" if self.agents else ""
        return f"{self.mislead or ('warm' if self.siblings else 'cold')}{agents}, {self.evaluations}"


@dataclass(frozen=True)
class Run:
    """Best time so far over the optimum after each evaluation, CPU seconds a proposal, and those of the whole run."""

    space: str
    mode: str
    seed: int
    curve: tuple[float, ...]
    cpu_s: float
    total_s: float


def named(file: Path) -> str:
    """The space's name."""
    return file.name.partition(".json")[0]


def relatives(files: Sequence[Path], mislead: str) -> Mapping[Path, tuple[Path, ...]]:
    """For each recording, those of the same kernel that a run on it is given; only foreign ones where that is asked."""
    found = {file: read_recording(file) for file in files}

    def related(own: Recording, other: Recording) -> bool:
        if own is other or not own.kernel or own.kernel != other.kernel:
            return False
        return mislead != "foreign" or _vendor(own) != _vendor(other)

    return {file: tuple(o for o in files if related(found[file], found[o])) for file in files}


def one(task: Task) -> Run:
    """A campaign on a recorded space."""
    recording = read_recording(task.file)
    space = recorded_space(recording, named(task.file))
    campaign = Campaign(
        name=space.name, path=task.file, spec=space.spec, output=task.file.parent, device=f"replay:{task.file}",
        budget=Budget(task.evaluations), seed=task.seed, use_knowledge=False, surrogate=not task.agents,
    )  # fmt: skip
    rng = np.random.default_rng(task.seed)
    history = [_told(read_recording(file), task.mislead, rng) for file in task.siblings]
    start = time.process_time()
    parts = assemble_replay(campaign, space, NoMemory(), history)
    if task.agents:
        parts = replace(parts, agents=tuple(agent for agent in BLIND if agent.name in task.agents))
    result = evolve(campaign, parts, observer=SilentObserver())
    cpu = time.process_time() - start
    first = float(recording.times_ms[space.first])
    measured = [point for point in result.history if not point.cached]
    times = [first] + [math.inf if p.speedup is None else first / p.speedup for p in measured]
    best = np.minimum.accumulate(times)[: task.evaluations] / recording.best_ms
    curve = [*map(float, best), *[float(best[-1])] * (task.evaluations - len(best))]
    curve = [round(min(ratio, WORST), 6) for ratio in curve]
    return Run(named(task.file), task.mode, task.seed, tuple(curve), cpu / max(1, result.counts.proposals), cpu)


def kept(file: Path | None) -> dict[tuple[str, str, int], Run]:
    """Runs of an earlier call, by space, mode and seed."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    runs = [Run(**{**json.loads(line), "curve": tuple(json.loads(line)["curve"])}) for line in lines]
    return {(run.space, run.mode, run.seed): run for run in runs}


def keep(run: Run, file: Path | None) -> Run:
    """Adds a run to the file, if there is one; calls for other spaces may do so at the same time."""
    if file:
        with file.open("a") as out:
            out.write(json.dumps(asdict(run)) + "\n")
    return run


def _vendor(recording: Recording) -> str:
    return ReplayEvaluator(recording, SIZE, "").device.vendor


def _told(recording: Recording, mislead: str, rng: np.random.Generator) -> Recording:
    """What a run is told of another device."""
    if mislead == "permuted":
        return replace(recording, times_ms=rng.permutation(recording.times_ms))
    if mislead == "reversed":
        return replace(recording, times_ms=recording.best_ms * np.nanmax(recording.times_ms) / recording.times_ms)
    return recording

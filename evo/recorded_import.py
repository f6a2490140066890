"""A recorded search space as a finished campaign of the knowledge base: each configuration is an outcome."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace

from evaluator.recording import Recording
from evaluator.replay import ReplayEvaluator
from evaluator.result import Evaluation
from evo.campaign_replay import recorded_space
from evo.recorded import SIZE, RecordedSpace
from genome.spec import ProblemSize
from knowledge.features import kernel_record
from knowledge.records import CampaignRecord, Lineage, Outcome

AGENT = "recording"
CONTRACT = "recorded"
"""Nothing was verified here: no campaign takes these times for its own."""
_NAMESPACE = uuid.UUID("6f9d4f0e-3b1a-5f0e-9a53-1f6a4c7b2d10")
_AXES = ("x", "y", "z")


def recorded_campaign(recording: Recording, name: str, version: str) -> tuple[CampaignRecord, tuple[Outcome, ...]]:
    """The campaign, and its outcomes with the first configuration that did not fail as the baseline.

    Args:
        recording: The space.
        name: Of the kernel, where the recording does not tell.
        version: Of evo-tune.
    """
    size = recorded_size(recording)
    space = recorded_space(recording, name)
    evaluator = ReplayEvaluator(recording, size, space.name)
    spec = replace(space.spec, sizes=(size,))
    record = CampaignRecord(
        name=space.name, kernel=kernel_record(spec, None), device=evaluator.device, toolchain=evaluator.toolchain,
        seed=0, version=version, settings={"recorded": len(recording)}, contract=CONTRACT,
    )  # fmt: skip
    baseline_ms = float(recording.times_ms[space.first])
    order = [space.first, *(row for row in range(len(recording)) if row != space.first)]
    outcomes = (_outcome(space, evaluator, row, number, baseline_ms) for number, row in enumerate(order))
    return record, tuple(outcomes)


def recorded_size(recording: Recording) -> ProblemSize:
    """The size that the file tells: ``size`` for one extent, ``x``, ``y``, ``z`` for up to three."""
    extents = recording.problem_size
    if not extents:
        return SIZE
    if len(extents) == 1:
        return ProblemSize((("size", extents[0]),))
    names = _AXES if len(extents) <= len(_AXES) else tuple(f"size{axis}" for axis in range(len(extents)))
    return ProblemSize(tuple(zip(names, extents, strict=False)))


def recording_token(recording: Recording, name: str) -> uuid.UUID:
    """Identity of what a recording says, whatever file it came in."""
    digest = hashlib.sha256()
    parts = (recording.kernel or name, recording.device, recording.names, recording.values, recording.problem_size)
    digest.update(repr((*parts, recording.failures)).encode("utf-8", "replace"))
    digest.update(recording.table.tobytes())
    digest.update(recording.times_ms.tobytes())
    return uuid.uuid5(_NAMESPACE, digest.hexdigest())


def _outcome(space: RecordedSpace, evaluator: ReplayEvaluator, row: int, number: int, baseline_ms: float) -> Outcome:
    variant = space.variant(row)
    (evaluation,) = evaluator.open(variant).evaluations
    return Outcome(variant, (evaluation,), (), Lineage(AGENT, generation=number), _speedup(evaluation, baseline_ms))


def _speedup(evaluation: Evaluation, baseline_ms: float) -> float | None:
    return None if evaluation.timing is None else baseline_ms / evaluation.timing.median_ms

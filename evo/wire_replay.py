"""The parts of a campaign on a recorded search space."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from evaluator.recording import Recording, read_recording, times_elsewhere
from evaluator.replay import ReplayEvaluator
from evo.campaign_replay import PREFIX, recorded_space
from evo.campaign_types import Campaign
from evo.guide import Guide
from evo.memory import Memory, NoMemory
from evo.parts import Parts, Pipeline
from evo.recorded import SIZE, RecordedSpace
from evo.recorded_import import recording_token
from genome.transforms.qualifiers import Macro
from knowledge.features import device_features, kernel_record, size_features
from knowledge.parameter_search import ParameterSearch
from knowledge.spooled import PATIENCE_S, SpooledBase
from knowledge.store import KnowledgeBase
from operators.base import Agent
from operators.computation import Computation
from operators.model_search import ModelSearch
from operators.recall import Recall

COVERED = 0.5
"""Share of a space that experience from elsewhere must have a time for: to a search, what is missing there failed."""
MOST_SIBLINGS = 6
"""Devices and sizes that a search learns from, those that know most first."""

BLIND: tuple[Agent, ...] = (Computation(), Recall())
"""Who proposes where no model does: uniform moves. Crossover and steps of one parameter, which kernels have beside
them, only delayed them on recorded spaces (docs/guide/search-efficiency.md).
"""


@contextmanager
def replayed(campaign: Campaign) -> Iterator[Parts]:
    """Builds what a campaign on a recorded space needs, and closes it in the end.

    Raises:
        KnowledgeError, RecordingError: If base or recording cannot be opened.
    """
    space = campaign.recorded
    if space is None:
        space = recorded_space(read_recording(Path(campaign.device.removeprefix(PREFIX))), campaign.name)
    if not campaign.use_knowledge:
        yield assemble_replay(campaign, space, NoMemory())
        return
    base = KnowledgeBase.open(campaign.knowledge_url, patience_s=PATIENCE_S)
    with closing(SpooledBase(base, campaign.output)) as memory:
        yield assemble_replay(campaign, space, memory, remembered_elsewhere(base, campaign, space))


def remembered_elsewhere(base: KnowledgeBase, campaign: Campaign, space: RecordedSpace) -> tuple[Recording, ...]:
    """What the base knows of the same kernel on other devices, as far as it covers this space."""
    device = ReplayEvaluator(space.recording, SIZE, campaign.device).device
    found = (item for item in base.recordings(space.name, device) if covered(space.recording, item) >= COVERED)
    return tuple(found)[:MOST_SIBLINGS]


def covered(recording: Recording, other: Recording) -> float:
    """Share of the configurations of a recording that another one has a time for, 0..1."""
    if not set(recording.names) & set(other.names):
        return 0.0
    return float(np.isfinite(times_elsewhere(recording, other)).mean())


def assemble_replay(
    campaign: Campaign, space: RecordedSpace, memory: Memory, siblings: Sequence[Recording] = ()
) -> Parts:
    """Parts on a space that was read, with one measurement in flight so that a seed gives the same run bit for bit.

    Args:
        campaign: What is run.
        space: Where.
        memory: The knowledge base.
        siblings: Recordings of the same kernel on other devices, as experience.
    """
    recording = space.recording
    history = tuple(times_elsewhere(recording, sibling) for sibling in siblings)
    evaluator = ReplayEvaluator(recording, SIZE, campaign.device)
    guide = None
    if campaign.surrogate:
        search = ParameterSearch(recording.values, recording.table, np.random.default_rng(campaign.seed), history)
        guide = Guide(search, space.genome, space.row)
    return Parts(
        evaluator=evaluator,
        lower=space.lower,
        moves=space.moves,
        describe=lambda gene: Macro().describe(gene.site, gene.values),
        agents=(ModelSearch(),) if guide else BLIND,
        kernel=kernel_record(space.spec, None),
        clock=time.monotonic,
        memory=memory,
        guide=guide,
        device_features=device_features(evaluator.device),
        size_features=(size_features(space.spec, SIZE),),
        pipeline=Pipeline(1, 1),
        contract=str(recording_token(recording, space.name)),  # another recording's times are not reused
    )

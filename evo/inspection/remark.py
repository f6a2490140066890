"""The one line about the kernel with which a campaign begins."""

from __future__ import annotations

from collections.abc import Sequence

from evo.campaign_types import Campaign
from evo.inspection.explore import is_structural
from evo.inspection.words import listed
from genome.analysis.analyse import analyse
from genome.moves import Move
from genome.replay import spec_kernel
from operators.base import MoveLike


def opening_remark(campaign: Campaign, found: Sequence[MoveLike]) -> str:
    """What kind of kernel it is, and where to look if no transform rewrites it; empty if there is nothing to say.

    Args:
        campaign: What is about to run.
        found: The moves that apply to the untouched kernel.
    """
    spec = campaign.spec
    if not spec.source:
        return ""
    facts = analyse(spec_kernel(spec), spec.assumptions, spec.launch.block)
    shapes = [f"a {idiom.name.value}" for idiom in facts.idioms if idiom.proof.holds]
    said = [f"{spec.entry} is {listed(shapes)}"] if shapes else []
    if not any(isinstance(move, Move) and is_structural(move.transform) for move in found):
        said.append(f"no transform rewrites it as it stands: `evo-tune inspect {campaign.path}` says why")
    return "; ".join(said)

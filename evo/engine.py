"""Runs a campaign."""

from __future__ import annotations

from evo.campaign_types import Campaign
from evo.evolve import evolve
from evo.progress import Observer, SilentObserver, StopRequest
from evo.result import CampaignResult
from evo.wire import build

__all__ = ["evolve", "run_campaign"]


def run_campaign(
    campaign: Campaign,
    *,
    observer: Observer | None = None,
    resume: bool = False,
    stop: StopRequest | None = None,
) -> CampaignResult:
    """Evolves a kernel.

    Args:
        campaign: What to tune, where, for how long.
        observer: Told about progress.
        resume: Goes on with the last unfinished campaign like this one, if there is one.
        stop: Asked often; True ends the search cleanly with the best so far.

    Raises:
        EvaluatorError: If the device, the baseline or the reference cannot be used.
        DeviceError: If there is no such device.
        KnowledgeError: If the knowledge base cannot be opened.
        SourceError: If the kernel cannot be read.
    """
    with build(campaign) as parts:
        return evolve(campaign, parts, observer=observer or SilentObserver(), resume=resume, stop=stop)

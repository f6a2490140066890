"""Proves a result again, later or elsewhere: the whole comparison in fresh processes, from ``best.json`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.api import Comparison, EvaluatorError
from evaluator.result import DeviceInfo, Toolchain
from evaluator.waiting import Say, silent
from evo.campaign import Campaign, CampaignError, Overrides, load_campaign
from evo.campaign_replay import require_kernel
from evo.parts import Parts
from evo.reading import open_baseline
from evo.wire import build, transforms
from genome.genes import Genome
from genome.spec import Reading
from genome.variant import Rejection, Variant


@dataclass(frozen=True)
class Claim:
    """What a ``best.json`` says.

    Attributes:
        path: The file.
        campaign: The campaign file that it came from.
        genome: Genes of the result.
        variant: Digest of the result where it was found.
        device: Name of that device.
        speedup: (median, low, high) as claimed.
        improved: False if the campaign found nothing faster.
        entry: Name among the ``entries`` of the campaign file; empty where it has none.
    """

    path: Path
    campaign: Path
    genome: Genome
    variant: str
    device: str
    speedup: tuple[float, float, float]
    improved: bool
    entry: str = ""


@dataclass(frozen=True)
class Verification:
    """What came of the second proof.

    Attributes:
        claim: As it was read.
        device, toolchain: Where it was proven again.
        comparison: The proof; its ``verified`` says that the result is right.
        same_text: False if the genome gives another text than it gave then (another target, kernel file or version).
    """

    claim: Claim
    device: DeviceInfo
    toolchain: Toolchain
    comparison: Comparison
    same_text: bool

    @property
    def faster(self) -> bool:
        """True if it is right and faster than the kernel as it is, beyond the interval."""
        return self.comparison.verified and self.comparison.low > 1.0

    @property
    def holds(self) -> bool:
        """True if it is right, and faster wherever that was claimed."""
        return self.comparison.verified and (self.faster or not self.claim.improved)


def read_claim(path: Path, campaign: Path | None = None) -> Claim:
    """Reads ``best.json``; ``campaign`` replaces the campaign file that it names.

    Raises:
        CampaignError: If the file is missing, is no ``best.json``, or its campaign file is not there.
    """
    try:
        data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        speedup = data["speedup"]
        named = campaign or (path.parent / str(data["campaign_file"]))
        claim = Claim(
            path, named, Genome.from_json(data["genome"]), str(data["variant"]), str(data["device"]),
            (float(speedup["median"]), float(speedup["low"]), float(speedup["high"])), bool(data["improved"]),
            str(data.get("entry") or ""),
        )  # fmt: skip
    except FileNotFoundError:
        raise CampaignError(f"{path}: there is no such file; a run writes best.json into its output folder") from None
    except IsADirectoryError:
        raise CampaignError(f"{path}: is a folder; name the best.json in it") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise CampaignError(f"{path}: is no best.json of a run ({what})") from None
    if not claim.campaign.is_file():
        raise CampaignError(f"{path}: its campaign file {claim.campaign} is not there; name it with --campaign")
    return claim


def verify(
    claim: Claim, *, device: str | None, processes: int | None, progress: Callable[[int, int], None],
    say: Say = silent,
) -> Verification:  # fmt: skip
    """Verifies the baseline and the result at every size and compares them in fresh processes (blocks).

    Args:
        claim: What to prove.
        device: Another device than the campaign's.
        processes: Other number of processes than the campaign's.
        progress: Told (processes done, processes in all).
        say: Hears what takes long before that.

    Raises:
        CampaignError: If the campaign file is wrong, or the genome gives nothing that can run here.
        EvaluatorError, DeviceError: If the device or the baseline cannot be used.
    """
    campaign: Campaign = load_campaign(claim.campaign, Overrides(device=device), transforms(), claim.entry)
    require_kernel(campaign, "verify")
    with build(replace(campaign, use_knowledge=False)) as parts:
        _check_genome(parts, claim)
        opened = open_baseline(parts, campaign.spec.sizes, say)
        variant = _lowered(opened.parts, claim)
        parts.evaluator.settle(say)
        count = processes or campaign.processes
        found = parts.evaluator.compare(opened.baseline, [variant], count, progress)
        if not found:
            raise EvaluatorError("the comparison gave no result")
        same = variant.digest() == claim.variant
        return Verification(claim, parts.evaluator.device, parts.evaluator.toolchain, found[0], same)


def _check_genome(parts: Parts, claim: Claim) -> None:
    """Ends early where the genome applies neither to the kernel's parsed form nor to its text.

    Raises:
        CampaignError: What is wrong with it.
    """
    try:
        _lowered(parts, claim)
    except CampaignError:
        if parts.read_as is None:
            raise
        try:
            _lowered(parts.read_as(Reading.TEXT), claim)
        except CampaignError:
            pass
        else:
            return  # the result of a campaign that kept to the text
        raise


def _lowered(parts: Parts, claim: Claim) -> Variant:
    """The claim's variant.

    Raises:
        CampaignError: If it cannot run here, or a gene of it does not apply.
    """
    variant = parts.lower(claim.genome)
    if isinstance(variant, Rejection):
        raise CampaignError(f"{claim.path}: its genome cannot run on this device: {variant.reason}")
    if variant.skipped and claim.improved:
        skipped = variant.skipped[0]
        where = f"{skipped.gene.transform} at {skipped.gene.site.label}"
        raise CampaignError(f"{claim.path}: its gene {where} does not apply any more: {skipped.reason}")
    return variant


def verification_json(result: Verification) -> dict[str, Any]:
    """The verification as plain data. Times are medians in milliseconds over fresh processes."""
    comparison, claim = result.comparison, result.claim
    return {
        "holds": result.holds,
        "verified": comparison.verified,
        "message": comparison.message,
        "note": comparison.note,
        "device": result.device.name,
        "toolchain": result.toolchain.label,
        "processes": comparison.processes,
        "same_text": result.same_text,
        "claimed": {"device": claim.device, "median": claim.speedup[0], "low": claim.speedup[1],
                    "high": claim.speedup[2]},
        "speedup": {"median": comparison.speedup, "low": comparison.low, "high": comparison.high},
        "sizes": [
            {"size": row.size, "baseline_ms": row.baseline_ms, "best_ms": row.best_ms, "speedup": row.speedup,
             "low": row.low, "high": row.high}
            for row in comparison.sizes
        ],
        "checks": [{"size": check.size, "status": str(check.status), "fallback": check.fallback}
                   for check in comparison.checks],
    }  # fmt: skip

"""The campaign files behind champions: named by the user, or where the base saw them last. Their code stays at home."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evo.campaign import load_campaign, load_plan
from evo.campaign_types import Campaign, CampaignError, Overrides
from evo.wire import transforms
from genome.source.errors import SourceError
from knowledge.champions import Champion

PATTERN = "campaign*.y*ml"
"""Files that are taken for campaigns in a folder that the user names."""
_NAME_IT = "name it: evo-tune retune CAMPAIGN.yaml"


@dataclass(frozen=True)
class Absent:
    """A campaign that should be looked at and cannot be, and why."""

    campaign: str
    file: str
    reason: str


def named_campaigns(paths: Sequence[Path], overrides: Overrides) -> tuple[tuple[Campaign, ...], tuple[Absent, ...]]:
    """Every campaign (each entry of a file with several) of these files, and of all in these folders.

    A file in a folder that is no campaign, or cannot run on the device that is asked for, is absent.

    Raises:
        CampaignError, SourceError: If a file that is named itself is wrong, or a folder holds none.
    """
    campaigns: list[Campaign] = []
    absent: list[Absent] = []
    for path in paths:
        for file in _files(path):
            try:
                plan = load_plan(file, overrides, transforms())
            except (CampaignError, SourceError) as error:
                if file == path:
                    raise
                absent.append(Absent(file.parent.name, str(file), str(error)))
            else:
                campaigns += [plan] if isinstance(plan, Campaign) else [entry.campaign for entry in plan.entries]
    return tuple(campaigns), tuple(absent)


def known_campaigns(found: Sequence[Champion], overrides: Overrides) -> tuple[tuple[Campaign, ...], tuple[Absent, ...]]:
    """The campaigns of champions, from where their files were when they ran; those of the newest champions first.

    The base may be shared, so that a path in it is somebody's word: a file that does not belong to the user who asks is
    left alone.
    """
    campaigns: list[Campaign] = []
    absent: dict[str, Absent] = {}
    for file, entry, name in dict.fromkeys((item.file, item.entry, item.name) for item in found):
        try:
            campaigns.append(_loaded(file, entry, overrides))
        except (CampaignError, SourceError) as error:
            absent.setdefault(name, Absent(name, file, str(error)))
    here = {campaign.name for campaign in campaigns}  # of several copies, one is enough
    return tuple(campaigns), tuple(item for name, item in absent.items() if name not in here)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.rglob(PATTERN)) if not _hidden(file.relative_to(path))]
    if not files:
        raise CampaignError(f"{path}: no campaign file ({PATTERN}) is in this folder or below it; name the file")
    return files


def _hidden(file: Path) -> bool:
    return any(part.startswith(".") for part in file.parts)


def _loaded(file: str, entry: str, overrides: Overrides) -> Campaign:
    """The campaign of a path that the base tells.

    Raises:
        CampaignError, SourceError: If it cannot be used.
    """
    path = Path(file)
    if not file:
        raise CampaignError(f"the base does not tell where its campaign file is; {_NAME_IT}")
    try:
        owners = {path.stat().st_uid, path.parent.stat().st_uid}
    except OSError:
        raise CampaignError(f"its campaign file is not there any more; {_NAME_IT}") from None
    if not owners <= {os.geteuid(), 0}:
        raise CampaignError(f"its campaign file belongs to another user, who may have changed it; {_NAME_IT}")
    return load_campaign(path, overrides, transforms(), entry)

"""Proves the results of a campaign of several entries again: each entry by its own ``best.json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.waiting import Say, silent
from evo.campaign import CampaignError, load_campaign
from evo.entries_result import Whole, entry_whole, together
from evo.verify import Claim, Verification, read_claim, verification_json, verify
from evo.wire import transforms


@dataclass(frozen=True)
class WholeClaim:
    """What an upper ``best.json`` says.

    Attributes:
        path: The file.
        speedup: (median, low, high) of all entries together as claimed.
        entries: (name, calls, claim) of each tuned entry.
        untouched: Names of those that were left as they are.
    """

    path: Path
    speedup: tuple[float, float, float]
    entries: tuple[tuple[str, float, Claim], ...]
    untouched: tuple[str, ...] = ()


@dataclass(frozen=True)
class WholeVerification:
    """What came of the second proof; ``whole`` is over the entries that were proven, None unless all were."""

    claim: WholeClaim
    entries: tuple[tuple[str, Verification], ...]
    whole: Whole | None

    @property
    def holds(self) -> bool:
        """True if every entry's claim holds."""
        return all(result.holds for _, result in self.entries)


def read_whole(path: Path, campaign: Path | None = None) -> WholeClaim | None:
    """Reads the ``best.json`` of several entries; None if the file is about something else.

    Args:
        path: The file.
        campaign: Replaces the campaign file that the entries name.

    Raises:
        CampaignError: If it is broken, or one of its entries' files is.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("entries"), list):
        return None
    try:
        speedup: Mapping[str, Any] = data["speedup"]
        told = (float(speedup["median"]), float(speedup["low"]), float(speedup["high"]))
        rows = [(str(row["name"]), float(row["calls"]), str(row["file"] or "")) for row in data["entries"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CampaignError(f"{path}: is no best.json of several entries ({error!r})") from None
    claims = tuple((name, calls, read_claim(path.parent / file, campaign)) for name, calls, file in rows if file)
    if not claims:
        raise CampaignError(f"{path}: none of its entries has been tuned yet; go on with evo-tune run --resume")
    return WholeClaim(path, told, claims, tuple(name for name, _, file in rows if not file))


def verify_whole(
    claim: WholeClaim, *, device: str | None, processes: int | None, progress: Callable[[str, int, int], None],
    say: Say = silent,
) -> WholeVerification:  # fmt: skip
    """Proves every entry (blocks). See ``evo.verify.verify``; ``progress`` is told the entry as well.

    Raises:
        CampaignError, EvaluatorError, DeviceError: As there.
    """
    found: list[tuple[str, Verification]] = []
    parts: list[Whole] = []
    for name, calls, part in claim.entries:

        def told(done: int, of: int, name: str = name) -> None:
            progress(name, done, of)

        result = verify(part, device=device, processes=processes, progress=told, say=say)
        found.append((name, result))
        if result.comparison.verified:
            rows = [vars(row) for row in result.comparison.sizes]
            sizes = load_campaign(part.campaign, None, transforms(), part.entry).spec.sizes
            parts.append(entry_whole(calls, sizes, rows))
    return WholeVerification(claim, tuple(found), together(parts) if len(parts) == len(found) else None)


def whole_verification_json(result: WholeVerification) -> dict[str, Any]:
    """The verification as plain data."""
    told = result.claim.speedup
    return {
        "holds": result.holds,
        "verified": all(entry.comparison.verified for _, entry in result.entries),
        "claimed": {"median": told[0], "low": told[1], "high": told[2]},
        "speedup": result.whole.speedup if result.whole else None,
        "untouched": list(result.claim.untouched),
        "entries": [{"name": name, **verification_json(entry)} for name, entry in result.entries],
    }

"""What counts as right in a campaign, as one digest.

A variant that was found wrong under a tight tolerance, or by a reference that had a mistake, may be right under another
one: outcomes are reused only between campaigns with the same contract.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from evo.campaign_types import Campaign


def contract(campaign: Campaign) -> str:
    """Digest of tolerance, reference (its file's text included), arguments with their initialisers, and check sizes."""
    spec, reference = campaign.spec, campaign.reference
    parts: list[Any] = [
        repr(spec.tolerance),
        [repr(arg) for arg in spec.args],
        [size.label for size in spec.check_sizes],
        None if reference is None else [str(reference.kind), reference.function, _text(reference.path)],
    ]
    if campaign.objective.bounded:  # a variant beyond a bound is refused, and would be right without it
        parts.append(repr(campaign.objective))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _text(path: str) -> str:
    """The reference's text; its path where it cannot be read (the evaluator will say so)."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path

"""What a retune remembers of each champion, so that an interrupted one goes on; also its result, as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo.campaign_types import CampaignError
from evo.report.files import write_atomic
from evo.retune_plan import Plan
from evo.retune_verdict import Finding, Verdict, figure_from, figure_json, worst

FILE = "retune.json"


@dataclass(frozen=True)
class Journal:
    """Findings so far.

    Attributes:
        path: Where they are kept.
        findings: By key, in the order in which they were made.
    """

    path: Path
    findings: tuple[Finding, ...] = ()

    def of(self, key: str) -> Finding | None:
        """What is known of a case, or None."""
        return next((finding for finding in self.findings if finding.key == key), None)

    def told(self, finding: Finding) -> Journal:
        """After a finding, which replaces the earlier one of the same case."""
        others = tuple(item for item in self.findings if item.key != finding.key)
        return Journal(self.path, (*others, finding))

    def save(self, plan: Plan, ended: bool) -> None:
        """Writes the file.

        Raises:
            OSError: If it cannot be written.
        """
        write_atomic(self.path, json.dumps(retune_json(self.findings, plan, ended), indent=2) + "\n")


def retune_json(findings: Sequence[Finding], plan: Plan, ended: bool) -> dict[str, Any]:
    """The whole as plain data: what ``--json`` prints. Times are medians in milliseconds over fresh processes."""
    return {
        "verdict": str(worst(findings)),
        "ended": ended,
        "champions": [_finding_json(finding) for finding in findings],
        "current": [{"campaign": name, "reason": reason} for name, reason in plan.current],
        "absent": [{"campaign": item.campaign, "file": item.file, "reason": item.reason} for item in plan.absent],
    }


def load(path: Path) -> Journal | None:
    """The journal of an interrupted retune; None if there is none, or one that has ended.

    Raises:
        CampaignError: If the file is something else.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        findings = tuple(_finding(item) for item in data["champions"])
        return None if data["ended"] else Journal(path, findings)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise CampaignError(
            f"{path}: is not what an interrupted retune has left ({error!r}); leave out --resume"
        ) from None


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "campaign": finding.campaign,
        "kernel": finding.kernel,
        "file": finding.file,
        "entry": finding.entry or None,
        "verdict": str(finding.verdict),
        "device": finding.device,
        "toolchain": finding.toolchain,
        "was_on": finding.was_on,
        "changes": list(finding.changes),
        "variant": finding.variant,
        "then": figure_json(finding.then),
        "now": figure_json(finding.now),
        "after": figure_json(finding.after),
        "note": finding.note,
        "results": finding.results or None,
        "key": finding.key,
    }


def _finding(data: Any) -> Finding:
    then = figure_from(data["then"])
    if then is None:
        raise ValueError("then: expected figures")
    names = ("key", "campaign", "kernel", "file", "device", "toolchain", "was_on", "variant", "note")
    words = {name: str(data[name]) for name in names}
    return Finding(
        **words, entry=str(data["entry"] or ""), changes=tuple(map(str, data["changes"])), then=then,
        verdict=Verdict(data["verdict"]), now=figure_from(data["now"]), after=figure_from(data["after"]),
        results=str(data["results"] or ""),
    )  # fmt: skip

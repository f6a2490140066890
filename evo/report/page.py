"""``report.html``: one self-contained page."""

from __future__ import annotations

from dataclasses import dataclass

from evo.campaign_types import Campaign
from evo.report.changes import Describe
from evo.report.markup import bullets, section, text
from evo.report.page_parts import (
    agents_part,
    archive_part,
    cards,
    convergence_part,
    environment_part,
    genes_part,
    roofline_part,
    sizes_part,
    stages_part,
    surrogate_part,
    usage_part,
)
from evo.report.style import CSS
from evo.report.summary import gained, times
from evo.result import CampaignResult


@dataclass(frozen=True)
class Pictures:
    """PNG bytes; the roofline is None where nothing is known of the work."""

    convergence: bytes
    agents: bytes
    roofline: bytes | None


def report_html(campaign: Campaign, result: CampaignResult, pictures: Pictures, describe: Describe) -> str:
    """The whole page."""
    title = f"{result.kernel} on {result.device.name}"
    body = [
        _header(result),
        cards(result),
        sizes_part(result),
        section("What was changed, and what each change is worth", genes_part(result, describe)),
        _pair(
            section("How the search went", convergence_part(pictures.convergence)),
            section("Roofline", roofline_part(result, pictures.roofline)),
        ),
        section("Agents", f'<div class="wide">{agents_part(pictures.agents)}</div>'),
        section("Surrogate", surrogate_part(campaign, result)),
        section("What the evaluation cost", stages_part(result)),
        section("Other good variants", archive_part(result)),
        section("How to use the result", usage_part(campaign, result)),
        section("Notes", bullets([text(note) for note in result.notes if note != result.comparison.message])),
        section("Environment", environment_part(campaign, result)),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{CSS}</style></head>\n'
        "<body><main>\n" + "\n".join(part for part in body if part) + "\n</main></body></html>\n"
    )


def _header(result: CampaignResult) -> str:
    comparison = result.comparison
    if result.improved:
        hero = (
            f'<div class="hero"><strong>{text(times(comparison.speedup))}</strong>'
            f"<span>{gained(result)}, 95% interval {text(times(comparison.low))} to {text(times(comparison.high))}"
            "</span></div>"
            if comparison.processes
            else f'<div class="hero"><strong>{text(times(comparison.speedup))}</strong><span>{text(gained(result))}, '
            "looked up</span></div>"
            if comparison.looked_up
            else f'<div class="hero"><strong>{text(times(comparison.speedup))}</strong>'
            f"<span>{text(gained(result))} in the search, not yet proven</span></div>"
        )
    else:
        hero = '<div class="hero none"><strong>No gain</strong><span>the kernel as it is stays the best</span></div>'
    if comparison.looked_up:
        badge, detail = '<span class="badge">looked up</span>', comparison.note
    elif comparison.verified:
        sizes = len(comparison.sizes) + len(comparison.checks)
        badge = '<span class="badge good">verified</span>'
        proof = f"right at {sizes} sizes, measured in {comparison.processes} fresh processes"
        detail = proof if comparison.processes else "the kernel as it was needs no further proof"
    else:
        badge = '<span class="badge bad">not verified</span>'
        detail = comparison.message or "the final comparison did not run"
    return (
        f"<header><h1>{text(result.kernel)} <span>on {text(result.device.name)}</span></h1>{hero}"
        f'<p>{badge} <span class="muted">{text(detail)}</span></p></header>'
    )


def _pair(left: str, right: str) -> str:
    return f'<div class="pair">{left}{right}</div>' if left and right else left or right

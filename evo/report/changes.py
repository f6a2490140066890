"""``changes.md``: what was done to the kernel, gene by gene, and what each change is worth."""

from __future__ import annotations

from collections.abc import Callable

from evo.report.summary import headline, launch_text, milliseconds, three, times
from evo.result import CampaignResult, GeneShare
from genome.genes import Gene

Describe = Callable[[Gene], str]
"""A gene in words."""


def changes_text(result: CampaignResult, describe: Describe) -> str:
    """Markdown: headline, sizes, one section a gene in the order of application, skipped genes, notes."""
    lines = [f"# {result.kernel}: what was changed", "", f"Result: {headline(result)} on {result.device.name}.", ""]
    lines += _sizes(result)
    lines += _genes(result, describe)
    skipped = result.best.skipped
    if skipped:
        lines += ["## Left out", "", "These genes were proposed, but do not apply here:", ""]
        lines += [f"- {describe(item.gene)} (`{item.gene.transform}`): {item.reason}" for item in skipped] + [""]
    if result.best.guard.conditions or result.best.guard.alignments:
        lines += ["## When it applies", "", "Elsewhere the launcher runs the kernel as it was:", ""]
        lines += [f"- `{condition}`" for condition in result.best.guard.conditions]
        lines += [f"- `{name}` is a multiple of {by} bytes" for name, by in result.best.guard.alignments] + [""]
    if result.notes:
        lines += ["## Notes", "", *[f"- {note}" for note in result.notes], ""]
    return "\n".join(lines).rstrip() + "\n"


def _sizes(result: CampaignResult) -> list[str]:
    if not result.comparison.sizes:
        return []
    rows = [
        ("size", "before", "after", "speed-up", "95% interval"),
        ("---",) * 5,
        *((row.size, milliseconds(row.baseline_ms), milliseconds(row.best_ms), times(row.speedup),
           f"{times(row.low)} to {times(row.high)}") for row in result.comparison.sizes),
    ]  # fmt: skip
    columns, about = 5, ("Times are medians over fresh processes, and so is each speed-up: it is the median of the "
                         "processes' own ratios, not the ratio of the two medians.")  # fmt: skip
    if result.comparison.looked_up:
        columns, about = 4, "Times were looked up: there is one figure of each."
    return [*(f"| {' | '.join(row[:columns])} |" for row in rows), "", about, ""]


def _genes(result: CampaignResult, describe: Describe) -> list[str]:
    if not result.best.genome.genes:
        return ["Nothing was changed: the kernel as it is stays the best.", ""]
    lines = ["## Changes, in the order of application", ""]
    if result.explanation:
        proven = ("in one process right after the proof: compare these figures with each other, not with the result "
                  "above")  # fmt: skip
        how = "and the time looked up" if result.comparison.looked_up else proven
        lines += [f"Each gene was left out in turn, {how}.", ""]
    shares = {item.gene: item for item in result.explanation}
    for number, gene in enumerate(result.best.genome.genes, 1):
        share = shares.get(gene)
        lines.append(f"{number}. **{describe(gene)}** (`{gene_text(gene)}`)")
        lines.append(f"   {worth(share)}")
    return [*lines, "", f"Launch: {launch_text(result.best)}.", ""]


def worth(share: GeneShare | None) -> str:
    """What leaving the gene out costs, in a sentence."""
    if share is None:
        return "Not measured on its own."
    note = f" {share.note[0].upper()}{share.note[1:].rstrip('.')}." if share.note else ""
    if share.factor is None or share.speedup_without is None:
        return "No figure of its own." + note
    return (
        f"Without it: {times(share.speedup_without)} instead of {times(share.speedup_with)}. "
        f"It is worth a factor of {three(share.factor)} ({share.share:.0%} of the gain).{note}"
    )


def gene_text(gene: Gene) -> str:
    """``strip@k factor=8``."""
    params = " ".join(f"{name}={value}" for name, value in gene.params)
    return f"{gene.transform}@{gene.site.label}" + (f" {params}" if params else "")

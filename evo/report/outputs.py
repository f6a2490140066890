"""Writes the output folder: kernels, data, words, pictures and the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evo.campaign_types import Campaign
from evo.export import ExportError, Printed, best_cl, best_cu, print_for
from evo.report.changes import changes_text, gene_text
from evo.report.charts import agents_png, convergence_png, roofline_png
from evo.report.files import write_atomic
from evo.report.page import Pictures, report_html
from evo.report.summary import best_json, headline, times
from evo.result import CampaignResult
from genome.genes import Gene
from genome.spec import Reading
from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

_ALTERNATIVES = 3


def write_outputs(
    campaign: Campaign, result: CampaignResult, folder: Path, transforms: Sequence[Transform] = BUILTIN
) -> None:
    """Writes everything into the folder (made if need be); each file is there as a whole or not at all.

    Files: ``best.cu``, ``best.cl``, ``best.json``, ``variant-2.cu`` to ``variant-4.cu``, ``changes.md``,
    ``report.html``, ``convergence.png``, ``agents.png``, ``roofline.png``. Variants and pictures of an earlier run that
    this one does not write are removed.

    Args:
        campaign: What was run.
        result: What came out.
        folder: Where to write.
        transforms: Those that the campaign's genes name: they print and describe them.

    Raises:
        OSError: If the folder or a file cannot be written.
    """
    words = Wording(transforms)
    files: dict[str, str | bytes] = {"best.json": json.dumps(best_json(campaign, result), indent=2) + "\n"}
    files |= Programs(campaign, result, transforms, words).files()
    roofline = roofline_png(result.device, dict(result.profile_before), dict(result.profile_after))
    pictures = Pictures(convergence_png(result), agents_png(result), roofline)
    files |= {"convergence.png": pictures.convergence, "agents.png": pictures.agents}
    if pictures.roofline is not None:
        files["roofline.png"] = pictures.roofline
    files["changes.md"] = changes_text(result, words)
    files["report.html"] = report_html(campaign, result, pictures, words)
    for name, content in files.items():
        write_atomic(folder / name, content)
    for stale in ("roofline.png", "best.cu", "best.cl", *(f"variant-{n}.cu" for n in range(2, 2 + _ALTERNATIVES))):
        if stale not in files:
            (folder / stale).unlink(missing_ok=True)


class Wording:
    """Genes in words, by the transforms that made them."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self._by_name: Mapping[str, Transform] = {transform.name: transform for transform in transforms}

    def __call__(self, gene: Gene) -> str:
        """The gene in words; its canonical form where its transform is not there any more."""
        transform = self._by_name.get(gene.transform)
        try:
            return transform.describe(gene.site, gene.values) if transform else gene_text(gene)
        except KeyError:  # a gene that was skipped because it lacks a parameter
            return gene_text(gene)


@dataclass(frozen=True)
class Programs:
    """The kernels of a result as files."""

    campaign: Campaign
    result: CampaignResult
    transforms: Sequence[Transform]
    words: Wording

    def files(self) -> dict[str, str | bytes]:
        """``best.cu``, ``best.cl`` and further variants; a language that cannot express the kernel is left out."""
        files: dict[str, str | bytes] = {}
        if not self.campaign.spec.source:  # a recorded space has figures alone
            return files
        for name, target in (("best.cu", Target.CUDA), ("best.cl", Target.OPENCL)):
            text = self._program(self.result.best, target, headline(self.result))
            if text is not None:
                files[name] = text
        for number, entry in enumerate(self.result.alternatives[:_ALTERNATIVES], 2):
            note = f"another good variant: {times(entry.speedup)} in the search, {entry.behaviour}"
            text = self._program(entry.variant, Target.CUDA, note)
            if text is not None:
                files[f"variant-{number}.cu"] = text
        return files

    def _program(self, variant: Variant, target: Target, note: str) -> str | None:
        spec = replace(self.campaign.spec, reading=Reading.TEXT if self.result.text_only else Reading.BOTH)
        try:
            if variant.target is target:
                printed = Printed(variant, self.result.baseline)
            else:
                printed = print_for(spec, variant.genome, self.transforms, target)
        except ExportError:
            return None
        header = self._header(printed.best, note)
        return best_cu(spec, printed, header) if target is Target.CUDA else best_cl(spec, printed, header)

    def _header(self, variant: Variant, note: str) -> list[str]:
        version = self.result.versions.get("evo-tune", "")
        lines = [
            f"{self.campaign.spec.entry}, evolved by evo-tune {version}".rstrip(),
            f"Result: {note}, on {self.result.device.name} ({self.result.toolchain.platform})",
        ]
        if variant.genome.genes:
            genes = enumerate(variant.genome.genes, 1)
            lines += ["Changes:", *(f"  {number}. {self.words(gene)}" for number, gene in genes)]
        return lines

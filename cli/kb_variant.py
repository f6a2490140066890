"""``evo-tune kb show|diff|export``: single variants, and the base as a file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cli.kb_common import JSON, URL, Column, gene_text, genes_text, open_base, printable, show, show_json
from cli.kb_filters import check_size, filtered
from evo.campaign import CampaignError
from evo.report.summary import times
from genome.genes import Gene, Genome
from knowledge.dossier import Ancestor, Dossier
from knowledge.filters import Filter
from knowledge.store import KnowledgeBase

_SOURCES = (".cu", ".cl")
_MEASUREMENTS: tuple[Column, ...] = (
    ("size", lambda row: row.size), ("device", lambda row: row.device), ("toolchain", lambda row: row.toolchain),
    ("status", lambda row: row.status), ("ms", lambda row: row.median_ms),
    ("check", lambda row: "check" if row.check else ""), ("recorded", lambda row: row.recorded[:19]),
    ("message", lambda row: row.message[:100]),
)  # fmt: skip


@click.command("show")
@click.argument("variant")
@click.option("--source", is_flag=True, help="Print its text as well.")
@URL
@JSON
def show_variant(variant: str, source: bool, url: str | None, as_json: bool) -> None:
    """A VARIANT by its digest (or the beginning of it): genes, measurements, and the tree of its parents."""
    with open_base(url) as base:
        found = base.dossier(variant)
    if as_json:
        show_json(_plain(found))
        return
    click.echo(f"{found.variant}  {printable(found.kernel)}  {found.target}  {found.recorded[:19]}")
    click.echo(f"genes: {printable(genes_text(found.genome))}")
    if found.options:
        click.echo(f"options: {printable(' '.join(found.options))}")
    for step in found.steps if found.source else ():
        click.echo(f"step: {json.dumps(step)}")
    if found.lineage:
        click.echo("lineage:")
        for line in tree(found.lineage):
            click.echo(f"  {line}")
    show(found.measurements, _MEASUREMENTS, nothing="never measured")
    if source:
        click.echo(_text(found.source))


@click.command()
@click.argument("first")
@click.argument("second")
@URL
@JSON
def diff(first: str, second: str, url: str | None, as_json: bool) -> None:
    """What differs between two variants, FIRST and SECOND: genes, options and text."""
    with open_base(url) as base:
        old, new = base.dossier(first), base.dossier(second)
    gone, come = gene_difference(old.genome, new.genome)
    lines = list(difflib.unified_diff(old.source.splitlines(), new.source.splitlines(), old.variant, new.variant,
                                      lineterm=""))  # fmt: skip
    less, more = _beside(old.options, new.options), _beside(new.options, old.options)
    if as_json:
        show_json({
            "removed": [gene.to_json() for gene in gone], "added": [gene.to_json() for gene in come],
            "options": {"removed": less, "added": more}, "source": lines,
        })  # fmt: skip
        return
    if old.kernel_digest != new.kernel_digest:
        click.echo(f"two kernels: {printable(old.kernel)} and {printable(new.kernel)}")
    for sign, genes, options in (("-", gone, less), ("+", come, more)):
        for text in (*map(gene_text, genes), *options):
            click.echo(f"{sign} {printable(text)}")
    click.echo("\n".join(map(_text, lines)) if lines else "the text is the same")


@click.command()
@click.argument("variant", required=False)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="best.cu, or base.jsonl.xz.")
@click.option("--kernel", help="With a .cu or .cl file: the best known variant of this kernel.")
@filtered
@click.option("--size", help="Exact size, for example M=512,N=512.")
@URL
def export(
    variant: str | None, output: Path, kernel: str | None, wanted: Filter, size: str | None, url: str | None
) -> None:
    """Writes the text of a VARIANT (or of the best one that fits) into a .cu or .cl file, else the whole base.

    What `kb import` takes in is a file of any other name; .gz and .xz compress it.
    """
    check_size(size)
    with open_base(url) as base:
        if output.suffix in _SOURCES:
            found = base.dossier(variant or _best(base, kernel, wanted, size))
            output.write_text(program(found), encoding="utf-8")
            click.echo(f"{output}: variant {found.variant} of {printable(found.kernel)}")
            return
        if variant or kernel or size or wanted != Filter():
            raise CampaignError("--output: a single variant goes into a file that ends in .cu or .cl")
        click.echo(f"{output}: {base.export(output)} rows")


def program(found: Dossier) -> str:
    """The text of a variant, with how it is compiled and launched in comments before it.

    Raises:
        CampaignError: If the base holds no text of it.
    """
    if not found.source:
        raise CampaignError(f"variant {found.variant} has no text: it is a configuration of a recorded space")
    head = [f"variant {found.variant} of {found.kernel}", f"genes: {genes_text(found.genome)}",
            f"options: {' '.join(found.options) or 'none'}"]  # fmt: skip
    head += [f"step: {json.dumps(step)}" for step in found.steps]
    comments = "".join(f"// {printable(line).rstrip(chr(92))}\n" for line in head)  # a backslash would go on below
    return f"{comments}\n{found.source.rstrip()}\n"


def gene_difference(old: Genome, new: Genome) -> tuple[tuple[Gene, ...], tuple[Gene, ...]]:
    """(genes that only the old one has, genes that only the new one has)."""
    return (tuple(gene for gene in old.genes if gene not in new.genes),
            tuple(gene for gene in new.genes if gene not in old.genes))  # fmt: skip


def tree(node: Ancestor, indent: str = "") -> Iterator[str]:
    """Lines of a variant and, indented below it, its parents."""
    gain = "" if node.speedup is None else f" {times(node.speedup)}"
    added = " ".join(map(gene_text, node.delta))
    rest = " (see above)" if node.cut and node.agent else ""
    yield printable(f"{indent}{node.variant} {node.agent}{gain}{f': {added}' if added else ''}{rest}".rstrip())
    for parent in node.parents:
        yield from tree(parent, indent + "  ")


def _best(base: KnowledgeBase, kernel: str | None, wanted: Filter, size: str | None) -> str:
    if kernel is None:
        raise CampaignError("give a variant, or --kernel NAME for the best one of it")
    rows = [row for row in base.top(replace(wanted, kernel=kernel), size, 1) if row.speedup is not None]
    if not rows:
        raise CampaignError(f"the base knows no variant of {kernel} like that; `evo-tune kb kernels` lists kernels")
    return max(rows, key=lambda row: row.speedup or 0.0).variant


def _beside(some: Sequence[str], others: Sequence[str]) -> list[str]:
    return [text for text in some if text not in others]


def _text(source: str) -> str:
    """Source for a terminal, its lines and tabs kept."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in source.split("\n"))


def _plain(found: Dossier) -> dict[str, Any]:
    return {**asdict(found), "genome": found.genome.to_json(), "lineage": _ancestor(found.lineage)}


def _ancestor(node: Ancestor | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return {
        "variant": node.variant, "agent": node.agent, "speedup": node.speedup, "cut": node.cut,
        "delta": [gene.to_json() for gene in node.delta], "parents": [_ancestor(item) for item in node.parents],
    }  # fmt: skip

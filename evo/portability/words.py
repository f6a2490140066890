"""A report in tables of words, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evo.portability.analysis import CaseReport, StudyReport
from evo.portability.case import Case, Effect
from evo.portability.matrix import Cell, Row
from evo.portability.what_if import WhatIf

_VENDORS = ("nvidia", "amd", "intel", "geforce", "radeon")


@dataclass(frozen=True)
class Table:
    """Titles and rows of plain text; ``below`` are remarks on it."""

    title: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()


def short_name(name: str) -> str:
    """A device's name as it fits beside a table: without its vendor."""
    words = [word for word in name.split() if word.lower() not in _VENDORS]
    text = " ".join(words) or name
    return text if len(text) <= 22 else text[:21] + "…"


def letters(case: Case) -> list[str]:
    """What stands for the devices on top of a table."""
    return [chr(ord("a") + n) if n < 26 else str(n) for n in range(len(case.places))]


def _named(report: CaseReport, row: Row) -> str:
    """``a A100`` for the champion of a device, else what it is."""
    names = [place.name for place in report.case.places]
    return f"{letters(report.case)[names.index(row.name)]}  {short_name(row.name)}" if row.name in names else row.name


def matrix_table(report: CaseReport) -> Table:
    """The efficiency matrix with portability and worst case."""
    case, rows, heads = report.case, [], letters(report.case)
    for row in (*report.rows, *report.others):
        worst = "-" if row.worst is None else f"{row.worst[1]:.2f} ({heads[row.worst[0]]})"
        pp = "waits" if row.pp is None else f"{row.pp:.2f}"
        roof = "-" if row.architectural_pp is None else f"{row.architectural_pp:.2f}"
        mended = "-" if row.repaired_pp is None else f"{row.repaired_pp:.2f}"
        rows.append((_named(report, row), *map(cell_text, row.cells), pp, mended, roof, worst))
    titles = ("best on", *heads, "PP", "repaired", "roofline", "worst")
    names = ", ".join(f"{letter} {place.name}" for letter, place in zip(heads, case.places, strict=True))
    unmeasured = [place.name for number, place in enumerate(case.places) if number not in case.measured]
    gaps = [
        f"{_named(report, row)} on {heads[place]}: {cell.gap}"
        + (f"; repaired ({cell.repair.how}): {cell.repaired:.2f}" if cell.repair and cell.repaired else "")
        for row in (*report.rows, *report.others)
        for place, cell in enumerate(row.cells)
        if cell.gap
    ]
    return Table("Efficiency", titles, tuple(rows), (_device_set(names, unmeasured), *gaps))


def _device_set(names: str, unmeasured: Sequence[str]) -> str:
    return f"PP over the device set {names}" + (
        f"; but for {', '.join(unmeasured)}: nothing is timed there" * bool(unmeasured)
    )


def cell_text(cell: Cell) -> str:
    """``0.97``, ``gap``, ``waits``."""
    if cell.efficiency is not None:
        return f"{cell.efficiency:.2f}"
    return "waits" if cell.waiting else "gap"


def choices_table(report: CaseReport) -> Table:
    """What to ship: the best single variant, and the smallest portfolio."""
    case, found, portfolio, heads = report.case, report.portable, report.portfolio, letters(report.case)
    worst = "-" if report.single.worst is None else f"{report.single.worst[1]:.2f}"
    runs = [heads[place] for place, cell in enumerate(report.single.cells) if cell.time_ms is not None]
    rows = [("one for all", "".join(runs), worst, configuration_text(case, found.variant))]
    for number, variant in enumerate(portfolio.variants, 1):
        served = [place for place, served_by in enumerate(portfolio.serves) if served_by == variant]
        kept = [portfolio.efficiencies[place] or 0.0 for place in served]
        rows.append((f"portfolio {number}/{len(portfolio.variants)}", "".join(heads[place] for place in served),
                     f"{min(kept):.2f}", configuration_text(case, variant)))  # fmt: skip
    agrees = "found the same one" if found.searched == found.variant else "found another one"
    how = "all variants compared" if found.exhaustive else "the known variants compared"
    cover = "no smaller set does it" if portfolio.exact else "by greedy cover: a smaller set may do it"
    return Table("What to ship", ("choice", "serves", "worst", "configuration"), tuple(rows), (
        f"one for all: {how}; NSGA-II looked at {found.looked_at} of {len(case.times_ms)} and {agrees}",
        f"portfolio: keeps {portfolio.keep:.0%} of the best on every device; {cover}; PP {portfolio.pp:.3f}",
    ))  # fmt: skip


def genes_table(report: CaseReport, intervals: bool) -> Table:
    """What each gene of a champion is worth on each device, with intervals or with signs for them."""
    case, rows = report.case, []
    for gene in report.genes:
        effects = {effect.place: effect for effect in gene.effects}
        cells = [_effect_text(effects.get(place), intervals) for place in range(len(case.places))]
        owners = "".join(letters(case)[place] for place in gene.champions)
        rows.append((gene_text(case, gene.name, gene.value), owners, *cells, str(gene.verdict)))
    interval = "95% bootstrap interval" if case.complete else "interval of both measurements"
    signs = interval if intervals else f"+ helps and - costs beyond the {interval}, ~ neither"
    return Table("Genes of the champions elsewhere", ("gene", "of", *letters(case), "verdict"), tuple(rows), (
        f"times without over times with it; {signs}",
    ))  # fmt: skip


def _effect_text(effect: Effect | None, interval: bool) -> str:
    if effect is None:
        return "?"
    if effect.low is None or effect.high is None:
        return f"{effect.factor:.2f}?"
    if interval:
        return f"{effect.factor:.2f} [{effect.low:.2f}, {effect.high:.2f}]"
    return f"{effect.factor:.2f}{'+' if effect.low > 1.0 else '-' if effect.high < 1.0 else '~'}"


def what_if_table(case: Case, answer: WhatIf, changes: str) -> Table:
    """The model's answer, with its error."""
    rows = [
        (short_name(case.places[o.place].name), f"{o.before_ms:.4g}", f"{o.after_ms:.4g}",
         f"{o.before_ms / o.after_ms:.2f}x",
         str(o.before), str(o.after) + (" (changes)" if o.changes else ""),
         "-" if o.fits is None else f"{o.fits[0]} -> {o.fits[1]}")
        for o in answer.outlooks
    ]  # fmt: skip
    error = answer.error
    told = "the model's error is not known: fewer than two measured devices" if error is None else (
        f"the model's own error, carrying measured times between these devices: a factor of {error.typical:.2f} "
        f"typically, {error.worst:.2f} at worst ({error.pairs} pairs)"
    )  # fmt: skip
    unknown = [f"{case.places[place].name}: {reason}" for place, reason in answer.unknown]
    if "shared" in changes and not any(o.fits for o in answer.outlooks):
        unknown.append("shared: nobody told what a block of these variants takes, so that it says nothing here")
    titles = ("device", "ms", "model", "gain", "limited by", "then by", "blocks")
    return Table(f"What if {changes} (a model, not a measurement)", titles, tuple(rows), (told, *unknown))


def overall_table(report: StudyReport) -> Table:
    """Performance portability over all kernels."""
    rows = tuple((o.name, "waits" if o.pp is None else f"{o.pp:.3f}", str(o.count)) for o in report.overall)
    kernels = ", ".join(item.case.label for item in report.cases)
    return Table("Over all kernels", ("choice", "PP", "pairs"), rows, (f"every device of {kernels}",))


def configuration_text(case: Case, variant: int) -> str:
    """``block_size_x=32 tile_size_y=4``."""
    values: Mapping[str, str] = case.configuration(variant)
    return " ".join(gene_text(case, *pair) for pair in values.items()) or "as it is"


def gene_text(case: Case, name: str, value: str) -> str:
    """``tile=4`` of a recorded space, ``unroll@k(factor=4)`` of a kernel that runs."""
    return f"{name}={value}" if case.complete else f"{name}({value})"


def case_tables(report: CaseReport, changes: str, intervals: bool) -> tuple[Table, ...]:
    """All tables of a case; ``intervals`` writes those of genes out."""
    found = [matrix_table(report), choices_table(report), genes_table(report, intervals)]
    if report.what_if is not None:
        found.append(what_if_table(report.case, report.what_if, changes))
    return tuple(table for table in found if table.rows)

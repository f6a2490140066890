"""Pictures of a study as PNG bytes: a heat map of the efficiencies, and bars of the choices."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from evo.portability.analysis import CaseReport
from evo.portability.matrix import Cell, Row
from evo.portability.words import short_name

INK, MUTED, GRID, ACCENT, WARM, GAP = "#1c2430", "#5b6675", "#e4e8ee", "#0f766e", "#c2410c", "#f3f4f6"
_SCALE = LinearSegmentedColormap.from_list("efficiency", ["#fde8dc", "#f6f1d9", "#bfe3d6", "#3f9c8c", "#0f766e"])
_DPI = 160


def heat_map_png(report: CaseReport) -> bytes:
    """Champions down, devices across; hatched cells are gaps, with the efficiency of the repair where one was tried."""
    rows, places = (*report.rows, *report.others), report.case.places
    figure = Figure(figsize=(2.6 + 0.92 * len(places), 1.5 + 0.5 * len(rows)), dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    for line, row in enumerate(rows):
        for column, cell in enumerate(row.cells):
            _paint(axes, line, column, cell)
    axes.set_xlim(0, len(places))
    axes.set_ylim(len(rows), 0)
    axes.set_xticks(np.arange(len(places)) + 0.5, [short_name(p.name) for p in places], rotation=32, ha="right")
    axes.set_yticks(np.arange(len(rows)) + 0.5, [_row_label(row, report) for row in rows])
    axes.tick_params(colors=INK, labelsize=8.5, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("runs on", color=MUTED, fontsize=8.5)
    axes.set_ylabel("best on", color=MUTED, fontsize=8.5)
    return _png(figure)


def _row_label(row: Row, report: CaseReport) -> str:
    return short_name(row.name) if row in report.rows else row.name


def _paint(axes: Axes, line: int, column: int, cell: Cell) -> None:
    if cell.efficiency is None:
        hatch = None if cell.waiting else "////"
        axes.add_patch(Rectangle((column, line), 1, 1, facecolor=GAP, edgecolor="#cbd2da", hatch=hatch, linewidth=0))
        text = "waits" if cell.waiting else "gap" if cell.repaired is None else f"gap\n({cell.repaired:.2f})"
        box = {"facecolor": GAP, "edgecolor": "none", "pad": 1.2}
        axes.text(column + 0.5, line + 0.5, text, ha="center", va="center", fontsize=7, color=MUTED, bbox=box)
    else:
        axes.add_patch(Rectangle((column, line), 1, 1, facecolor=_SCALE(cell.efficiency), linewidth=0))
        colour = "white" if cell.efficiency > 0.72 else INK
        axes.text(
            column + 0.5, line + 0.5, f"{cell.efficiency:.2f}", ha="center", va="center", fontsize=9, color=colour
        )
    axes.add_patch(Rectangle((column, line), 1, 1, fill=False, edgecolor="white", linewidth=1.6))


def bars_png(report: CaseReport) -> bytes:
    """Performance portability of each choice, with its worst case as a mark."""
    rows = [(_row_label(row, report), row.pp, row.worst) for row in (*report.rows, *report.others)]
    kept = [value for value in report.portfolio.efficiencies if value is not None]
    rows.append(
        (f"portfolio of {len(report.portfolio.variants)}", report.portfolio.pp, (0, min(kept)) if kept else None)
    )
    figure = Figure(figsize=(6.4, 0.9 + 0.36 * len(rows)), dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    for line, (_, pp, worst) in enumerate(rows):
        own = line >= len(report.rows)
        axes.barh(line, pp or 0.0, color=ACCENT if own else "#8fbdb5", height=0.62)
        if worst is not None:
            axes.plot([worst[1]], [line], marker="|", markersize=13, markeredgewidth=2, color=WARM)
        text = "waits" if pp is None else f"{pp:.2f}" if pp else "0: gaps"
        axes.text((pp or 0.0) + 0.012, line, text, va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.tick_params(colors=INK, labelsize=8.5, length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1f}" if value <= 1 else ""))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for name, side in axes.spines.items():
        side.set_visible(name == "left")
        side.set_color(MUTED)
    axes.set_xlabel("performance portability (bar) and worst efficiency (mark)", color=MUTED, fontsize=8.5)
    return _png(figure)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png")
    return buffer.getvalue()

"""Draws what ``search_efficiency.py`` found: best time so far over the optimum against evaluations.

    python benchmarks/search_picture.py COLD.json [WARM.json] OUT.png

Each line is the geometric mean over spaces of the median over seeds. COLD.json holds the other tuner's strategies as
well where it was made with ``--peer``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullFormatter

OURS = {"cold": "evo-tune, cold", "warm": "evo-tune, knowing other devices"}
COLOURS = ("#0b6e99", "#d1495b")
OTHERS = ("#8a8a8a", "#b0893e", "#6b8f71", "#9d7bb0", "#5f7ea3")
FIRST = 5
"""Evaluations before the first point: nothing is known yet."""


def main(arguments: list[str]) -> int:
    """See the module."""
    *files, out = map(Path, arguments)
    if len(files) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    curves = {name: found["curve"] for file in files for name, found in json.loads(file.read_text())["overall"].items()}
    figure = drawn(curves)
    figure.savefig(out, dpi=150)
    return 0


def drawn(curves: dict[str, list[float]]) -> Any:
    """One line a curve, ours thick."""
    figure, axes = pyplot.subplots(figsize=(7.5, 4.2), layout="constrained")
    colours = iter(OTHERS)
    for name, curve in curves.items():
        ours = name in OURS
        at = range(FIRST, len(curve) + 1)
        colour = COLOURS[list(OURS).index(name)] if ours else next(colours)
        axes.plot(at, [ratio - 1.0 for ratio in curve[FIRST - 1 :]], label=OURS.get(name, name), color=colour,
                  linewidth=2.4 if ours else 1.3, zorder=3 if ours else 2)  # fmt: skip
    axes.set_yscale("log")
    axes.set_yticks([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"+{value:.1%}".replace(".0%", "%")))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best so far above the optimum")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

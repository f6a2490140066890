"""Computes the figures of a portability study of recorded spaces anew, from the recordings alone, and compares.

    python benchmarks/portability_check.py examples/portability/gemm.yaml examples/portability/results/gemm

Nothing of evo-tune is imported: the recordings are read as JSON, the formulas are written out with numpy. Only tables
(``params`` and ``rows``, as ``docs/guide/recorded-spaces.md`` tells) are read. Exits with 1 where a figure differs.
"""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
NEAR, RESAMPLES, KEEP = 1.25, 1000, 0.95


@dataclass
class Tally:
    """Figures that were compared, and those that differ."""

    compared: int = 0
    different: list[str] = field(default_factory=list)

    def same(self, what: str, told: Any, expected: Any, within: float = 0.0) -> None:
        """Compares one figure; NaN is told as null."""
        self.compared += 1
        wanted = None if isinstance(expected, float) and math.isnan(expected) else expected
        if told == wanted:
            return
        if within and told is not None and wanted is not None and abs(told / wanted - 1.0) <= within:
            return
        self.different.append(f"{what}: told {told}, expected {wanted}")


class Space:
    """The union of the recordings of a study, as plain arrays."""

    def __init__(self, study: dict[str, Any], folder: Path) -> None:
        self.devices: list[str] = []
        spaces, names = [], []
        for item in study["devices"]:
            path = folder / item["device"].removeprefix("replay:")
            with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
                data = json.load(file)
            fixed = {name: str(value) for name, value in item.get("fixed", {}).items()}
            self.devices.append(item.get("name") or data["device"])
            spaces.append(dict(_lines(data, fixed)))
            names += [*data["params"], *fixed]
        self.keys = list(dict.fromkeys(key for space in spaces for key in space))
        self.times = np.array([[space.get(key, math.nan) for space in spaces] for key in self.keys])
        seen = {name: {dict(key)[name] for key in self.keys} for name in dict.fromkeys(names)}
        self.names = [name for name, values in seen.items() if len(values) > 1]
        self.domains = {name: sorted(seen[name], key=float) for name in self.names}
        self.codes = np.array([[self.domains[n].index(dict(key)[n]) for n in self.names] for key in self.keys])
        self.best = np.nanmin(self.times, axis=0)
        self.efficiency = self.best / self.times

    def row(self, configuration: dict[str, str]) -> int:
        """The row of a configuration."""
        return next(n for n, key in enumerate(self.keys) if configuration.items() <= dict(key).items())


def _lines(data: dict[str, Any], fixed: dict[str, str]) -> Iterator[tuple[tuple[tuple[str, str], ...], float]]:
    count = len(data["params"])
    for row in reversed(data["rows"]):  # of repeated lines the first one counts
        values = {**dict(zip(data["params"], map(str, row[:count]), strict=True)), **fixed}
        time = row[count + 1]
        good = row[count] == "ok" and isinstance(time, int | float) and 1e-9 <= time <= 1e12
        yield tuple(sorted(values.items())), time if good else math.nan


def harmonic(values: np.ndarray[Any, Any]) -> float:
    """Pennycook's metric."""
    return 0.0 if np.isnan(values).any() else float(len(values) / np.sum(1.0 / values))


def check_rows(told: dict[str, Any], space: Space, roofs: np.ndarray[Any, Any], tally: Tally) -> None:
    """Matrix, portability, worst cases and repairs."""
    (matrix,), (portability,) = told["matrix"], told["pp"]["by_kernel"]
    gaps = iter(matrix["gaps"])
    for number, name in enumerate(matrix["rows"]):
        row = space.row(matrix["configurations"][number])
        if name in space.devices:
            tally.same(f"champion of {name}", row, int(np.nanargmin(space.times[:, space.devices.index(name)])))
        for place, device in enumerate(space.devices):
            where = f"{name} on {device}"
            tally.same(f"time of {where}", matrix["times_ms"][number][place], float(space.times[row, place]))
            tally.same(f"efficiency of {where}", matrix["efficiency"][number][place], space.efficiency[row, place])
            tally.same(f"roofline of {where}", matrix["architectural"][number][place], roofs[row, place])
            if np.isnan(space.times[row, place]):
                repair, nearest = next(gaps)["repair"], _nearest(space, row, place)
                tally.same(f"repair of {where}", repair["time_ms"], space.times[nearest, place])
                tally.same(f"repaired {where}", repair["efficiency"], space.efficiency[nearest, place])
        figures = portability["rows"][number]
        tally.same(f"PP of {name}", figures["pp"], harmonic(space.efficiency[row]))
        tally.same(f"roofline PP of {name}", figures["architectural_pp"], harmonic(roofs[row]))
        tally.same(f"worst of {name}", figures["worst"]["efficiency"], float(np.nanmin(space.efficiency[row])))
    tally.same("gaps", next(gaps, None), None)


def _nearest(space: Space, row: int, place: int) -> int:
    legal = np.flatnonzero(~np.isnan(space.times[:, place]))
    steps = np.abs(space.codes[legal] - space.codes[row])
    return int(min(zip((steps > 0).sum(axis=1), steps.sum(axis=1), legal, strict=True))[2])


def check_choices(told: dict[str, Any], space: Space, tally: Tally) -> None:
    """The best single variant and the smallest portfolio, by enumeration."""
    (portable,), (portfolio,) = told["portable"], told["portfolio"]
    best = max(harmonic(row) for row in space.efficiency)
    tally.same("PP of the best single variant", portable["pp"], best)
    kept = np.nan_to_num(space.efficiency) >= KEEP
    sets = {frozenset(np.flatnonzero(row)) for row in kept if row.any()}
    whole = frozenset(range(len(space.devices)))
    least = next(
        k for k in range(1, len(whole) + 1)
        if any(frozenset().union(*some) == whole for some in itertools.combinations(sets, k))
    )  # fmt: skip
    tally.same("size of the portfolio", portfolio["k"], least)
    rows = [space.row(configuration) for configuration in portfolio["configurations"]]
    for place, value in enumerate(np.nanmax(space.efficiency[rows], axis=0)):
        tally.same(f"portfolio on {space.devices[place]}", portfolio["efficiency"][place], float(value))
    tally.same("PP of the portfolio", portfolio["pp"], harmonic(np.nanmax(space.efficiency[rows], axis=0)))


def check_genes(told: dict[str, Any], space: Space, tally: Tally) -> None:
    """Effects and intervals; sums in another order may differ in the last digits."""
    for gene in told["genes"]:
        column = space.names.index(gene["gene"])
        code = space.domains[gene["gene"]].index(gene["value"])
        for effect in gene["effects"]:
            place = space.devices.index(effect["device"])
            what = f"{gene['gene']}={gene['value']} on {effect['device']}"
            gains = np.array(list(_gains(space, column, code, place)))
            tally.same(f"contexts of {what}", effect["contexts"], len(gains))
            tally.same(f"effect of {what}", effect["factor"], float(np.exp(gains.mean())), 1e-12)
            reach = space.best[place] / np.nanmin(space.times[space.codes[:, column] == code, place])
            tally.same(f"reach of {what}", effect["reach"], float(reach))
            if effect["low"] is not None:
                rng = np.random.default_rng([told["seed"], column, code, place])
                means = gains[rng.integers(len(gains), size=(RESAMPLES, len(gains)))].mean(axis=1)
                low, high = np.exp(np.quantile(means, [0.025, 0.975]))
                tally.same(f"lower end of {what}", effect["low"], float(low), 1e-12)
                tally.same(f"upper end of {what}", effect["high"], float(high), 1e-12)


def _gains(space: Space, column: int, code: int, place: int) -> Iterator[float]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in np.flatnonzero(~np.isnan(space.times[:, place])):
        groups.setdefault(tuple(np.delete(space.codes[row], column)), []).append(int(row))
    for _, rows in sorted(groups.items()):
        own = [row for row in rows if space.codes[row, column] == code]
        others = [row for row in rows if space.codes[row, column] != code]
        if own and others and space.times[rows, place].min() <= NEAR * space.best[place]:
            yield float(np.log(space.times[others, place]).mean() - np.log(space.times[own[0], place]))


def main(path: Path, results: Path) -> int:
    """Compares, and says how many figures are the same."""
    study, told = yaml.safe_load(path.read_text()), json.loads((results / "portability.json").read_text())
    space, tally = Space(study, path.parent), Tally()
    (work,) = (kernel["work"] for kernel in study["kernels"])
    bounds = [
        max(work["flops"] / (item["peaks"]["gflops"] * 1e6), work["bytes"] / (item["peaks"]["bandwidth_gbs"] * 1e6))
        for item in study["devices"]
    ]
    tally.same("variants", told["matrix"][0]["variants"], len(space.keys))
    tally.same("devices", told["matrix"][0]["devices"], space.devices)
    check_rows(told, space, np.array(bounds) / space.times, tally)
    check_choices(told, space, tally)
    check_genes(told, space, tally)
    for line in tally.different:
        print(line)
    print(f"{path.name}: {tally.compared} figures compared, {len(tally.different)} different")
    return 1 if tally.different else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

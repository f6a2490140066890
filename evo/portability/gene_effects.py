"""Which genes travel: what a champion's parameter value is worth on each device, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evo.portability.case import ABSENT, Case, Effect

NEAR = 1.25
"""Settings of the other parameters count where this one's best choice is within this factor of the device's best."""
RESAMPLES = 1000
LEAST_CONTEXTS = 5
"""With fewer there is no interval."""


class Verdict(StrEnum):
    """What becomes of a gene elsewhere."""

    TRAVELS = "travels"  # helps on every device, beyond the interval
    TURNS = "turns"  # costs time on one of them, beyond the interval
    BOUND = "bound"  # the same, but the best there can have it: it pays together with others only
    LOCAL = "local"  # helps somewhere, and cannot be told from no effect elsewhere
    IDLE = "idle"  # cannot be told from no effect anywhere
    UNKNOWN = "unknown"  # some device says nothing of it, or there is but one


@dataclass(frozen=True)
class GeneReport:
    """A gene of a champion, or of several.

    Attributes:
        name, value: Parameter and value, or gene and its parameters.
        champions: Places whose champions have it.
        effects: One for each place that says something of it.
        verdict: In a word.
    """

    name: str
    value: str
    champions: tuple[int, ...]
    effects: tuple[Effect, ...]
    verdict: Verdict


def gene_reports(case: Case, seed: int, keep: float) -> tuple[GeneReport, ...]:
    """A report for each value that a champion has, by parameter; ``keep`` is the share of the best that is enough."""
    owners: dict[tuple[int, str], list[int]] = {}
    for place, variant in enumerate(case.champions):
        if variant is not None:
            for k in range(len(case.names)):
                owners.setdefault((k, case.domains[k][case.table[variant, k]]), []).append(place)
    known = {(effect.gene, effect.place): effect for effect in case.effects}
    reports = []
    for gene in sorted(owners, key=lambda item: (item[0], case.domains[item[0]].index(item[1]))):
        if gene[1] == ABSENT:
            continue
        found = [
            known.get((gene, place)) if case.effects else table_effect(case, gene, place, seed)
            for place in case.measured
        ]
        effects = tuple(effect for effect in found if effect is not None)
        verdict = verdict_of(effects, len(found), keep)
        reports.append(GeneReport(case.names[gene[0]], gene[1], tuple(owners[gene]), effects, verdict))
    return tuple(reports)


def verdict_of(effects: Sequence[Effect], places: int, keep: float) -> Verdict:
    """The verdict of a gene's effects on so many places."""
    told = [(effect.low, effect.high) for effect in effects if effect.low is not None and effect.high is not None]
    if any(high < 1.0 for _, high in told):
        within = len(effects) == places and all(e.reach is not None and e.reach >= keep for e in effects)
        return Verdict.BOUND if within else Verdict.TURNS
    if len(told) < places or places < 2:
        return Verdict.UNKNOWN
    helped = sum(low > 1.0 for low, _ in told)
    return Verdict.TRAVELS if helped == places else Verdict.LOCAL if helped else Verdict.IDLE


def table_effect(case: Case, gene: tuple[int, str], place: int, seed: int) -> Effect | None:
    """The effect of a value in a table of all configurations; None where it never stands beside another one.

    In every setting of the other parameters that has a time with the value and with another one, and whose best choice
    is within ``NEAR`` of the device's best, the gain is the geometric mean of the other times over the time with the
    value. The effect is the geometric mean of these gains; its interval is the percentile bootstrap over the settings
    (B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", 1993, chapter 13), drawn by
    ``default_rng([seed, parameter, value, place])`` with the indices of names, values and places.
    """
    name, value = gene
    code = case.domains[name].index(value)
    times = case.times_ms[:, place]
    gains = _gains(case.table, times, name, code)
    if not gains.size:
        return None
    rng = np.random.default_rng([seed, name, code, place])
    low, high = _interval(gains, rng) if gains.size >= LEAST_CONTEXTS else (None, None)
    reach = float(np.nanmin(times) / np.nanmin(times[case.table[:, name] == code]))
    return Effect(gene, place, float(np.exp(gains.mean())), low, high, int(gains.size), reach)


def _gains(table: NDArray[np.int32], times_ms: NDArray[np.float64], name: int, code: int) -> NDArray[np.float64]:
    """Logarithms of the gains, one a setting of the other parameters, in the order of their values."""
    rows = np.flatnonzero(~np.isnan(times_ms))
    others = np.delete(table[rows], name, axis=1)
    _, groups = np.unique(others, axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    count = int(groups.max()) + 1 if rows.size else 0
    logs, with_value = np.log(times_ms[rows]), table[rows, name] == code
    held = np.bincount(groups, with_value, count)
    rest = np.bincount(groups, ~with_value, count)
    best = np.full(count, np.inf)
    np.minimum.at(best, groups, times_ms[rows])
    chosen = (held > 0) & (rest > 0) & (best <= NEAR * best.min(initial=np.inf))
    own = np.bincount(groups, np.where(with_value, logs, 0.0), count)
    elsewhere = np.bincount(groups, np.where(with_value, 0.0, logs), count)
    gains: NDArray[np.float64] = elsewhere[chosen] / rest[chosen] - own[chosen]
    return gains


def _interval(gains: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, float]:
    drawn = rng.integers(gains.size, size=(RESAMPLES, gains.size))
    low, high = np.quantile(gains[drawn].mean(axis=1), [0.025, 0.975])
    return float(np.exp(low)), float(np.exp(high))

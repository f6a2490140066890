"""Column values back to records. What a shared base holds is data from others: it is checked, and never executed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from evaluator.result import Bottleneck, Evaluation, Profile, Resources, Status, Timing
from genome.genes import Gene, Genome

MOST_GENES = 64


def genome(data: Any) -> Genome | None:
    """The genome, or None if the JSON is not one (or absurdly long)."""
    if not isinstance(data, list) or len(data) > MOST_GENES:
        return None
    try:
        return Genome.from_json(data)
    except ValueError:
        return None


def genes(data: Any) -> tuple[Gene, ...]:
    """The genes; none of them if one is malformed."""
    found = genome(data)
    return () if found is None else found.genes


def strings(values: Sequence[Any]) -> tuple[str, ...]:
    """Only the strings among the values."""
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def evaluation(variant: str, size: str, row: Row[Any]) -> Evaluation | None:
    """The evaluation of a row of table ``evaluation``; None if its status is not one that this version knows."""
    try:
        status = Status(row.status)
    except ValueError:
        return None
    timing = None
    if row.median_ms is not None and math.isfinite(row.median_ms) and row.median_ms > 0:
        low, high = (row.median_ms if value is None else value for value in (row.low_ms, row.high_ms))
        timing = Timing(tuple(row.samples_ms), row.median_ms, low, high)
    if status is Status.OK and timing is None and not row.is_check:
        return None
    return Evaluation(
        variant, size, status, row.message, timing, resources(row.resources), _profile(row.profile), row.max_error,
        row.fallback, row.compile_s, row.device_s, row.stage,
    )  # fmt: skip


def _number(data: Any, name: str) -> float | None:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(data: Any, name: str) -> int | None:
    value = _number(data, name)
    return None if value is None else int(value)


def resources(data: Any) -> Resources:
    """What the compiler said, from its row; unknown where the row does not tell."""
    return Resources(
        registers=_whole(data, "registers"), spills_bytes=_whole(data, "spills_bytes"),
        shared_bytes=_whole(data, "shared_bytes"), private_bytes=_whole(data, "private_bytes"),
        occupancy=_number(data, "occupancy"), mix=_mix(data),
    )  # fmt: skip


def _mix(data: Any) -> tuple[tuple[str, int], ...]:
    """Instructions by class; empty if they are something else."""
    pairs = data.get("mix") if isinstance(data, dict) else None
    try:
        return tuple((str(name), int(count)) for name, count in pairs or ())
    except (TypeError, ValueError):
        return ()


def _profile(data: Any) -> Profile | None:
    if not isinstance(data, dict):
        return None
    try:
        bottleneck = Bottleneck(str(data.get("bottleneck")))
    except ValueError:
        bottleneck = Bottleneck.UNKNOWN
    evidence = data.get("evidence")

    def number(name: str) -> float:
        return _number(data, name) or 0.0

    return Profile(
        bottleneck,
        evidence if isinstance(evidence, str) else "",
        number("flops"),
        number("bytes"),
        number("gflops"),
        number("gbytes_per_s"),
        number("roofline_fraction"),
        strings(data.get("measured", [])),
        _counters(data.get("counters")),
    )


def _counters(data: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(data, list):
        return ()
    pairs = (pair for pair in data if isinstance(pair, list) and len(pair) == 2)
    return tuple((str(name), float(value)) for name, value in pairs if isinstance(value, int | float))


def numbers(values: Any) -> tuple[float, ...]:
    """A feature vector as plain floats."""
    return tuple(float(value) for value in values)


def log_ratio(numerator: float | None, denominator: float | None) -> float | None:
    """log2 of a ratio of two times; None unless both are positive and finite."""
    if numerator is None or denominator is None or not (numerator > 0 and denominator > 0):
        return None
    ratio = math.log2(numerator / denominator)
    return ratio if math.isfinite(ratio) else None


def sizes(data: Any) -> dict[str, int]:
    """The integer entries of a size's JSON."""
    if not isinstance(data, dict):
        return {}
    return {name: value for name, value in data.items() if isinstance(value, int) and not isinstance(value, bool)}

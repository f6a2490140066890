"""Is an output right? The comparison of a whole buffer with the oracle. Pure.

Element rule: ``|x - y| <= atol + rtol * |y|``. Norm rule: ``||x - y|| <= norm * ||y||`` (Euclidean), which sees an
error that is small everywhere, such as sums kept in half precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.defences import Defences
from evaluator.elements import Array, pattern
from evaluator.result import Status
from evaluator.tolerance import ALL, Bound, Expected

POISONS = (0xFF, 0x5A)
"""Byte patterns of unwritten memory: NaN (or -1), and a large finite number."""


def other_poison(byte: int) -> int:
    """The pattern for scratch memory: a NaN read from there must not look like an output that was never written."""
    return POISONS[1] if byte == POISONS[0] else POISONS[0]


_SAMPLE = 64
_CHUNK = 1 << 15  # elements that are compared in one go


@dataclass(frozen=True)
class Verdict:
    """How an output compares. ``error`` is relative to the tolerance: 1.0 lies on it."""

    status: Status = Status.OK
    message: str = ""
    error: float = 0.0


def poisoned(output: Array, byte: int, dtype: str = "") -> NDArray[np.bool_]:
    """Which elements of a flat array still hold the poison, bit for bit. ``dtype`` is that of the argument, where it is
    not the array's.
    """
    return _holds(output, pattern(byte, dtype or output.dtype.name))


def _holds(output: Array, bits: int) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = output.view(f"u{output.dtype.itemsize}") == bits
    return equal


def relative_errors(output: Array, values: Array, bound: Bound) -> NDArray[np.float64]:
    """Element errors relative to the tolerance: 0 where equal (NaN equals NaN), infinite where only one is finite."""
    if output.dtype.kind in "iu":
        return np.where(output == values, 0.0, np.inf)
    with np.errstate(all="ignore"):  # the poison is a signalling NaN
        wide, values = output.astype(np.float64), values.astype(np.float64, copy=False)
        limit = bound.atol + bound.rtol * np.abs(values)
        difference = np.abs(wide - values)
        errors = np.where(difference == 0.0, 0.0, difference / limit)
    same = (wide == values) | (np.isnan(wide) & np.isnan(values))
    result: NDArray[np.float64] = np.where(same, 0.0, np.where(np.isfinite(errors), errors, np.inf))
    return result


def norm_error(output: Array, values: Array, bound: Bound) -> float:
    """Norm of the error over the norm of the values, relative to the tolerance; finite elements only."""
    if bound.norm == 0.0:
        return 0.0
    with np.errstate(all="ignore"):
        wide, values = output.astype(np.float64), values.astype(np.float64, copy=False)
    finite = np.isfinite(wide) & np.isfinite(values)
    size = float(np.linalg.norm(values[finite]))
    distance = float(np.linalg.norm(wide[finite] - values[finite]))
    floor = bound.floor * float(np.sqrt(np.count_nonzero(finite)))
    return distance / max(bound.norm * size, floor) if distance > 0.0 and max(size, floor) > 0.0 else 0.0


def judge(
    name: str,
    output: Array,
    expected: Expected,
    bound: Bound,
    poison: int | None,
    allowed: float,
    where: str,
    defences: Defences = ALL,
) -> Verdict:
    """Compares one output array with the oracle.

    Args:
        name: Of the argument.
        output: Flat, in the host's dtype for the argument.
        expected: See ``Expected``.
        bound: See ``bound_for``.
        poison: Byte that the buffer held before; None for inout and where it was not poisoned.
        allowed: Largest accepted error relative to the tolerance (1.0, or more where the baseline itself errs more).
        where: Size label.
        defences: What is looked at.
    """
    values, written = expected.values, expected.written
    held = None if poison is None else pattern(poison, expected.dtype or output.dtype.name)
    if not defences.whole_output:
        output, values = output[:_SAMPLE], values[:_SAMPLE]
        written = None if written is None else written[:_SAMPLE]
    if defences.nan:
        left = held if defences.untouched else None
        error = _glance(output, values, written, bound, left, allowed, defences.norm)
        if error is not None:
            return Verdict(error=error)
    if written is not None and held is not None and defences.untouched:
        touched = ~written & ~_holds(output, held)
        if touched.any():
            return _changed(name, touched, expected.shape, where)
    if written is not None:
        output, values = np.where(written, output, 0), np.where(written, values, 0)
    errors = relative_errors(output, values, bound)
    if not defences.nan:
        errors = np.where(np.isnan(output), 0.0, errors)
    wrong = errors > allowed
    if wrong.any():
        return _differs(name, output, expected, errors, wrong, bound, held, where)
    norm = norm_error(output, values, bound) if defences.norm else 0.0
    worst = max(float(errors.max(initial=0.0)), norm)
    if norm > allowed:
        text = (
            f"wrong at {where}: the error of {name} as a whole is {norm * bound.norm:.2g} of its norm "
            f"(tolerance {bound.norm:g}), spread over all elements: lost precision"
        )
        return Verdict(Status.WRONG, text, worst)
    return Verdict(error=worst)


def _changed(name: str, touched: NDArray[np.bool_], shape: tuple[int, ...], where: str) -> Verdict:
    text = (
        f"stray write at {where}: {int(touched.sum())} elements of {name} changed that the original kernel leaves "
        f"alone, first {name}[{_index(int(np.argmax(touched)), shape)}]"
    )
    return Verdict(Status.STRAY_WRITE, text, float("inf"))


def _glance(
    output: Array, values: Array, written: NDArray[np.bool_] | None, bound: Bound, held: int | None, allowed: float,
    norm: bool,
) -> float | None:  # fmt: skip
    """The error of an output that is right, None if it may not be; by parts that stay in the processor's cache."""
    worst = distance = size = 0.0
    finite = 0
    for start in range(0, output.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        x, y = output[part], values[part]
        if written is not None:
            mask = written[part]
            if held is not None and np.any(~mask & ~_holds(x, held)):
                return None
            x, y = np.where(mask, x, 0), np.where(mask, y, 0)
        if x.dtype.kind in "iu":
            if not np.array_equal(x, y):
                return None
            continue
        error, *sums = _part(x, y, bound)
        if not error <= allowed:
            return None
        worst, distance, size, finite = max(worst, error), distance + sums[0], size + sums[1], finite + int(sums[2])
    if norm and bound.norm and distance > 0.0:
        least = max(bound.norm * math.sqrt(size), bound.floor * math.sqrt(finite))
        worst = max(worst, math.sqrt(distance) / least if least > 0.0 else 0.0)
    return worst if worst <= allowed else None


def _part(x: Array, y: Array, bound: Bound) -> tuple[float, float, float, int]:
    """Largest element error; sums of squares of differences and of values, and their count, where both are finite."""
    with np.errstate(all="ignore"):
        wide, values = x.astype(np.float64), y.astype(np.float64, copy=False)
        difference = wide - values
        distance, size = float(np.dot(difference, difference)), float(np.dot(values, values))
        if math.isfinite(distance) and math.isfinite(size):
            np.abs(difference, out=difference)
            difference /= bound.atol + bound.rtol * np.abs(values)
            return float(np.fmax.reduce(difference, initial=0.0)), distance, size, x.size  # a NaN is 0 / 0: equal
        both = np.isfinite(wide) & np.isfinite(values)
        difference, values = difference[both], values[both]
        error = float(relative_errors(x, y, bound).max(initial=0.0))
    return error, float(np.dot(difference, difference)), float(np.dot(values, values)), difference.size


def _differs(
    name: str, output: Array, expected: Expected, errors: NDArray[np.float64], wrong: NDArray[np.bool_], bound: Bound,
    held: int | None, where: str,
) -> Verdict:  # fmt: skip
    count, total = int(wrong.sum()), output.size
    worst = int(np.argmax(np.where(wrong, errors, -1.0)))
    if held is not None and (untouched := wrong & _holds(np.ascontiguousarray(output), held)).any():
        at = _index(int(np.argmax(untouched)), expected.shape)
        text = (
            f"unwritten at {where}: {int(untouched.sum())} of {total} elements of {name} "
            f"still hold what was there before, first {name}[{at}]"
        )
        return Verdict(Status.UNWRITTEN, text, float("inf"))
    at = _index(worst, expected.shape)
    limit = "exact" if bound.rtol == bound.atol == 0.0 else f"tolerance rtol {bound.rtol:g}, atol {bound.atol:.3g}"
    text = (
        f"wrong at {where}: {count} of {total} elements of {name} differ, "
        f"worst {name}[{at}] = {_number(output[worst])}, expected {_number(expected.values[worst])} ({limit})"
    )
    return Verdict(Status.WRONG, text, float(errors[worst]))


def _index(flat: int, shape: tuple[int, ...]) -> str:
    return ",".join(str(int(part)) for part in np.unravel_index(flat, shape))


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)

"""What an output must hold, and how far it may be from it: tolerances by dtype. Pure.

Defaults follow the probabilistic bound for a sum of n rounded terms, ``sqrt(n) * u`` relative to the size of the
terms (Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019):
float32 has u = 6e-8, so n = 2**20 terms err by about 6e-5 and ten thousand by 6e-6, while arithmetic with the 11 bits
of half, or of inputs cut to them, errs by 2e-4 and more: the norm rule stands between the two. Where terms cancel, an
element can be far smaller than its terms; an unset ``atol`` is therefore ``rtol`` times the root mean square of the
oracle's array. float16 and bfloat16 are judged by their own rounding (11 and 8 bits of significand, u = 2**-11 and
2**-9): 4 u by norm and 20 u by element, for the few roundings on the way to a result. Integers are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evaluator.defences import Defences
from evaluator.elements import Array
from genome.spec import Tolerance

ALL = Defences()

DEFAULTS: Mapping[str, tuple[float, float]] = {
    "bfloat16": (4e-2, 8e-3),
    "float16": (1e-2, 2e-3),
    "float32": (1e-4, 5e-5),
    "float64": (1e-10, 1e-11),
}
"""dtype -> (rtol, norm)."""

_LAX = 1e-2  # what a comparison takes that asks for no dtype
_CHUNK = 1 << 15  # elements that are looked at in one go


@dataclass(frozen=True)
class Bound:
    """Tolerance of one output array with every default filled in.

    ``floor`` is an absolute error of an element that the campaign grants: the norm rule does not judge below it.
    """

    rtol: float
    atol: float
    norm: float
    floor: float = 0.0


@dataclass(frozen=True)
class Expected:
    """What one output must hold.

    Attributes:
        values: Flat; float64 if a reference gave them, in the host's dtype for the argument if the baseline did.
        written: Which elements the baseline writes; None if all.
        shape: For messages.
        known_scale: See ``scale``, where it was computed before.
        dtype: Of the argument; empty for that of an array which holds what the device does.
    """

    values: Array
    written: NDArray[np.bool_] | None
    shape: tuple[int, ...]
    known_scale: float | None = None
    dtype: str = ""

    @cached_property
    def scale(self) -> float:
        """Root mean square of the finite values; 0 of integers, which have no tolerance."""
        if self.known_scale is not None:
            return self.known_scale
        return root_mean_square(self.values) if self.values.dtype.kind == "f" else 0.0


def root_mean_square(values: Array) -> float:
    """Of the finite values; 0 if there are none."""
    total, count = 0.0, 0
    with np.errstate(all="ignore"):
        for start in range(0, values.size, _CHUNK):
            part = values[start : start + _CHUNK].astype(np.float64)
            square = float(np.dot(part, part))
            if not math.isfinite(square):
                part = part[np.isfinite(part)]
                square = float(np.dot(part, part))
            total, count = total + square, count + part.size
    return math.sqrt(total / count) if count else 0.0


def bound_for(tolerance: Tolerance, dtype: str, values: Array | Expected, defences: Defences = ALL) -> Bound:
    """The tolerance of an output: what the campaign says, else the default of the dtype.

    A campaign that sets ``rtol`` alone loosens the norm rule to it as well, and never tightens it.
    """
    if dtype not in DEFAULTS:
        return Bound(0.0, 0.0, 0.0)
    if not defences.own_tolerance:
        return Bound(_LAX, _LAX, _LAX, _LAX)
    rtol, norm = DEFAULTS[dtype]
    if tolerance.rtol is not None:
        rtol, norm = tolerance.rtol, max(norm, tolerance.rtol)
    if tolerance.norm is not None:
        norm = tolerance.norm
    if tolerance.atol is not None:
        return Bound(rtol, tolerance.atol, norm, tolerance.atol)
    scale = values.scale if isinstance(values, Expected) else root_mean_square(values)
    return Bound(rtol, rtol * scale, norm)

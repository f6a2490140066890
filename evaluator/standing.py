"""The judge of a size: what its outputs must hold, on whose word, and how far a variant may be from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evaluator.tolerance import Expected

_SLACK = 1.1
_TWO_ROUNDINGS = 2.0  # two right results may each be off by the tolerance


class Standing(StrEnum):
    """Whose word an oracle rests on."""

    SETTLED = "settled"  # the campaign's reference or checker; or, where there is neither, the untransformed kernel
    AWAITED = "awaited"  # the untransformed kernel's, until the reference's answer is there
    MISSING = "missing"  # the untransformed kernel's, because the reference gave no answer in time


@dataclass(frozen=True)
class Oracle:
    """What the outputs must be at a size. It changes once at most, when an awaited answer arrives or is given up.

    Attributes:
        expected: By output name, one mapping for each input set.
        errors: The baseline's own error in each set, relative to the tolerance.
        exponent: Of the set of extreme magnitudes; 0 where there is none.
        standing: Whose word it is.
        answered: True if the values are a background reference's answers, which are on disk already.
    """

    expected: tuple[Mapping[str, Expected], ...]
    errors: tuple[float, ...]
    exponent: int = 0
    standing: Standing = Standing.SETTLED
    answered: bool = False

    def allowed(self, own: float, factor: float) -> float:
        """Largest error of a variant, relative to the tolerance, where the baseline's own is ``own``.

        Against a reference it is 1, or ``factor`` times the baseline's error if that is more. While the reference is
        awaited nothing may be refused that it would accept: a baseline that passes is off by 1 at most, a variant that
        passes by ``factor`` at most, and the two differ by no more than the sum; a tenth more, because the tolerance is
        then relative to values that are off themselves.
        """
        match self.standing:
            case Standing.SETTLED:
                return max(1.0, factor * own)
            case Standing.AWAITED:
                return _SLACK * (1.0 + max(1.0, factor))
            case Standing.MISSING:
                return _TWO_ROUNDINGS

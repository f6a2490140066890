"""Boxes that accesses fill: every position of the box is the place of some access."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from genome.analysis.footprint import Extent


def unfilled(extents: Sequence[Sequence[Extent]], offsets: Sequence[Sequence[int]]) -> str:
    """Why some position of a box may be met by no access; empty if each one is.

    Args:
        extents: The variables that run along each dimension of the box; they take every value of their ranges.
        offsets: Where each access starts in the box, by dimension.
    """
    columns = [set(column) for column in zip(*offsets, strict=True)]
    for starts, along in zip(columns, extents, strict=True):
        reached = starts
        for extent in along:
            reached = {at + extent.factor * step for at in reached for step in range(extent.count)}
        if len(reached) <= max(reached) - min(reached):
            return "the accesses leave gaps"
    if prod(len(starts) for starts in columns) > len({tuple(row) for row in offsets}):
        return "the accesses leave out corners"
    return ""

"""Bytes around a buffer that nobody may change, and how far from it they changed. Pure."""

from __future__ import annotations

import numpy as np

from evaluator.backend import Bytes


def canary(nbytes: int, offset: int = 0) -> Bytes:
    """Bytes that differ from their neighbours, from zero and from both poisons: position ``offset`` onwards."""
    return ((np.arange(offset, offset + nbytes, dtype=np.int64) * 167 + 13) % 241 + 3).astype(np.uint8)


def describe_damage(front: Bytes, back: Bytes, front_expected: Bytes, back_expected: Bytes) -> str:
    """Empty if both canaries are whole, else how far from the payload they changed."""
    found = []
    if (changed := np.flatnonzero(front != front_expected)).size:
        nearest = front.size - int(changed[-1])
        found.append(f"{changed.size} bytes before the start changed, the nearest {nearest} bytes before it")
    if (changed := np.flatnonzero(back != back_expected)).size:
        found.append(f"{changed.size} bytes past the end changed, the first at end+{int(changed[0])}")
    return "; ".join(found)

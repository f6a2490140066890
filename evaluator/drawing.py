"""Random arrays in blocks: each block has a stream of its own, so that several threads fill one array.

The values depend on the seed alone, not on the number of threads. Numbers are drawn in the precision of the array
where numpy can (single and double): drawing in double and rounding takes ten times as long.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.elements import BFLOAT16, host_dtype, largest, next_towards, rounded

_BLOCK = 1 << 20  # elements
_WHOLE = 0xFFFFFFFF  # of a stream for the array as a whole: no block has that number

Draw = Callable[[np.random.Generator, NDArray[Any]], None]
"""Fills a block."""


class Streams:
    """Random streams of one array: of each block, and one for what concerns the whole."""

    def __init__(self, seed: int, which: int, size: str, name: str) -> None:
        self._words = [seed & 0xFFFFFFFF, which, zlib.crc32(name.encode()), zlib.crc32(size.encode())]

    def block(self, number: int) -> np.random.Generator:
        """Stream of a block."""
        return np.random.default_rng([*self._words, number])

    def whole(self) -> np.random.Generator:
        """Stream for the array as a whole."""
        return self.block(_WHOLE)


def drawn(kind: str, name: str, count: int, params: Mapping[str, float], streams: Streams) -> NDArray[Any]:
    """A flat array of ``count`` random values.

    Args:
        kind: ``uniform``, ``normal``, ``wide`` or ``integers``; see ``inputs.fill``.
        name: Of the array's dtype.
        count: Elements.
        params: Of the initialiser.
        streams: Where the randomness comes from.
    """
    draw = _DRAWS[kind](name, params)
    values = np.empty(count, host_dtype(name))
    starts = range(0, count, _BLOCK)

    def fill(start: int) -> None:
        block = values[start : start + _BLOCK]
        draw(streams.block(start // _BLOCK), block)
        if name == BFLOAT16:
            block[:] = rounded(block, name)

    if len(starts) <= 1:
        for start in starts:
            fill(start)
    else:
        with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as threads:
            list(threads.map(fill, starts))
    return values


def _whole(name: str) -> bool:
    return host_dtype(name).kind in "iu"


def _uniform(name: str, params: Mapping[str, float]) -> Draw:
    if _whole(name):
        return _integers(name, params)
    low, high = params.get("low", -1.0), params.get("high", 1.0)
    below = next_towards(high, low, name)  # rounding must not reach what is left out

    def draw(rng: np.random.Generator, block: NDArray[Any]) -> None:
        values = _unit(rng, block)
        values *= high - low
        values += low
        np.minimum(values, below, out=values)
        block[:] = values

    return draw


def _normal(name: str, params: Mapping[str, float]) -> Draw:
    mean, spread, whole = params.get("mean", 0.0), params.get("std", 1.0), _whole(name)

    def draw(rng: np.random.Generator, block: NDArray[Any]) -> None:
        values = rng.standard_normal(block.size, _precision(block))
        values *= spread
        values += mean
        block[:] = np.rint(values) if whole else values

    return draw


def _integers(name: str, params: Mapping[str, float]) -> Draw:
    low, high = int(params.get("low", 0)), int(params.get("high", 100))
    dtype = host_dtype(name)
    fits = _whole(name) and np.iinfo(dtype).min <= low and high - 1 <= np.iinfo(dtype).max

    def draw(rng: np.random.Generator, block: NDArray[Any]) -> None:
        block[:] = rng.integers(low, high, block.size, dtype if fits else np.int64)

    return draw


def _wide(name: str, params: Mapping[str, float]) -> Draw:
    whole, signed = _whole(name), host_dtype(name).kind != "u"
    low, high = params.get("low", 1.0 if whole else 1e-6), params.get("high", 1e6)
    if not whole:
        high = min(high, largest(name))
    start, span = math.log(low), math.log(high) - math.log(low)

    def draw(rng: np.random.Generator, block: NDArray[Any]) -> None:
        values = _unit(rng, block)
        values *= span
        values += start
        np.clip(np.exp(values, out=values), low, high, out=values)
        if signed:
            np.negative(values, out=values, where=rng.integers(0, 2, block.size, np.int8) > 0)
        block[:] = np.rint(values) if whole else values

    return draw


_DRAWS: Mapping[str, Callable[[str, Mapping[str, float]], Draw]] = {
    "uniform": _uniform, "normal": _normal, "integers": _integers, "wide": _wide,
}  # fmt: skip


def _precision(block: NDArray[Any]) -> type[np.float32] | type[np.float64]:
    """What numbers for a block are drawn in."""
    return np.float32 if block.dtype.kind == "f" and block.dtype.itemsize <= 4 else np.float64


def _unit(rng: np.random.Generator, block: NDArray[Any]) -> NDArray[Any]:
    """As many numbers in [0, 1)."""
    values: NDArray[Any] = rng.random(block.size, _precision(block))
    return values

"""Elements of arrays as the host keeps them, and as the device does. Pure.

numpy has no bfloat16: the host keeps such an array in float32, every value one that bfloat16 has, so that all of numpy
works on it; the device holds the upper half of each. All other dtypes are the same on both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome.spec import DTYPES

Array = NDArray[Any]

BFLOAT16 = "bfloat16"

_BITS = 16  # of a float32 that bfloat16 lacks
_LARGEST = 3.3895313892515355e38  # (2 - 2**-7) * 2**127


def host_dtype(name: str) -> np.dtype[Any]:
    """What the host keeps values of a dtype of ``DTYPES`` in."""
    return np.dtype(np.float32 if name == BFLOAT16 else name)


def rounded(values: Any, name: str) -> Array:
    """Numbers in a dtype: to the nearest value, ties to even; too large ones become infinite."""
    if name == BFLOAT16:
        return _bfloat16(np.asarray(values))
    with np.errstate(over="ignore"):
        return np.asarray(values, name, order="C")


def largest(name: str) -> float:
    """Largest finite number of a floating-point dtype."""
    return _LARGEST if name == BFLOAT16 else float(np.finfo(name).max)


def next_towards(value: float, other: float, name: str) -> float:
    """The value of a floating-point dtype after ``value`` (rounded to it) in the direction of ``other``."""
    start = rounded(value, name)
    if name != BFLOAT16:
        return float(np.nextafter(start, rounded(other, name)))
    step = 1 << _BITS
    bits = int(start.view(np.uint32))
    if value == other:
        return float(start)
    if bits << 1 & 0xFFFFFFFF == 0:  # zero: the smallest number of the other's sign
        return float(np.copysign(np.uint32(step).view(np.float32), np.float32(other)))
    outwards = (other > value) == (value > 0)
    return float(np.uint32(bits + step if outwards else bits - step).view(np.float32))


def packed(values: Array, name: str) -> NDArray[np.uint8]:
    """The bytes of an array on the device, in row-major order.

    Args:
        values: In the host's dtype for ``name``; others, an oracle's float64 say, are kept as they are.
        name: A dtype of ``DTYPES``.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    if name == BFLOAT16 and flat.dtype == np.float32:
        flat = (flat.view(np.uint32) >> np.uint32(_BITS)).astype(np.uint16)
    return flat.view(np.uint8)


def unpacked(data: NDArray[np.uint8], name: str) -> Array:
    """The inverse of ``packed``, flat: bit for bit, so that a pattern of unwritten memory can still be seen."""
    return from_bits(data.view(np.uint16)) if name == BFLOAT16 else data.view(name)


def from_bits(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The bfloat16 numbers that these bits are."""
    wide: NDArray[np.uint32] = bits.astype(np.uint32) << np.uint32(_BITS)
    return wide.view(np.float32)


def pattern(byte: int, name: str) -> int:
    """What an element whose every byte on the device is ``byte`` is to the host, as an unsigned integer."""
    number = int.from_bytes(bytes([byte]) * DTYPES[name][1], "little")
    return number << _BITS if name == BFLOAT16 else number


def device_scalar(value: np.generic, name: str) -> np.generic:
    """A scalar as a launch passes it: the bits of a bfloat16."""
    return np.uint16(int(np.asarray(value).view(np.uint32)) >> _BITS) if name == BFLOAT16 else value


def _bfloat16(values: Array) -> NDArray[np.float32]:
    """Rounds once, whatever the precision of the values: through float32 rounded to odd, which keeps what is lost there
    as a last bit (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Trans. Comput. 57, 2008).
    """
    wide = values if values.dtype == np.float32 else values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.ascontiguousarray(wide, np.float32)
        bits = single.view(np.uint32)
        if wide.dtype != np.float32:
            beyond = (np.abs(single) > np.abs(wide)).astype(np.uint32)
            bits = np.where(single == wide, bits, (bits - beyond) | np.uint32(1))
        nan = np.isnan(wide)
    carried = bits + np.uint32(0x7FFF) + (bits >> np.uint32(_BITS) & np.uint32(1))
    kept = np.where(nan, np.uint32(0x7FC00000), carried & np.uint32(0xFFFF0000))
    return np.ascontiguousarray(kept, np.uint32).view(np.float32).reshape(values.shape)

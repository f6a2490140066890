"""Hardware limits, and the static check of a variant against them before it costs a compilation."""

from __future__ import annotations

from dataclasses import dataclass

STATIC_SHARED = 48 * 1024
"""Bytes of shared arrays of constant size in a CUDA block; only an array sized by the launch may use more."""


@dataclass(frozen=True)
class DeviceLimits:
    """Launch limits of a device (or tighter ones that a campaign sets).

    Attributes:
        max_threads: Threads of a block.
        max_block: Threads of a block along x, y, z.
        max_grid: Blocks along x, y, z.
        shared_bytes: Shared (local) memory of a block, in bytes.
        registers: 32-bit registers of a thread; 0 where there is no such limit.
        units: Multiprocessors (compute units); 0 where the device does not tell.
        unrolled: Statements that a thread may hold after full unrolling: compilers take seconds beyond it.
    """

    max_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared_bytes: int = 48 * 1024
    registers: int = 255
    unrolled: int = 2048
    units: int = 0

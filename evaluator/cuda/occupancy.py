"""Architectures, and how many blocks of a kernel a multiprocessor holds at once.

The rule is that of NVIDIA's occupancy calculator (``cuda_occupancy.h`` of the toolkit); the figures are from the table
of compute capabilities in the CUDA C++ Programming Guide. Registers are given to warps in units of 256, by each of four
partitions on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

STATIC_SHARED = 48 * 1024
"""Most shared memory that a kernel may declare statically, on every architecture; more is dynamic and asked for."""

_KIB = 1024
_WARP = 32
_REGISTERS = 65536  # of a multiprocessor, and of a block
_REGISTER_UNIT = 256
_PARTITIONS = 4


@dataclass(frozen=True)
class Architecture:
    """What a multiprocessor holds.

    Attributes:
        name: ``sm_90``.
        threads, blocks: At most, resident at once.
        shared_bytes: Shared memory of a multiprocessor.
        block_shared_bytes: Most shared memory of one block, static and dynamic.
        reserved_bytes: Shared memory that the system takes for each block.
        shared_unit: Granularity of shared memory.
    """

    name: str
    threads: int
    blocks: int
    shared_bytes: int
    block_shared_bytes: int
    reserved_bytes: int = _KIB
    shared_unit: int = 128

    def resident_blocks(self, threads: int, registers: int, shared_bytes: int) -> int:
        """Blocks that are resident at once; 0 if not even one fits.

        Args:
            threads: Of a block.
            registers: Of a thread.
            shared_bytes: Of a block, static and dynamic.
        """
        warps = ceil(threads / _WARP)
        by_warps = self.threads // _WARP // warps
        return min(self.blocks, by_warps, _by_registers(warps, registers), self._by_shared(shared_bytes))

    def occupancy(self, threads: int, registers: int, shared_bytes: int) -> float:
        """Resident warps as a share of those that a multiprocessor can hold."""
        warps = ceil(threads / _WARP)
        return self.resident_blocks(threads, registers, shared_bytes) * warps / (self.threads // _WARP)

    def _by_shared(self, shared_bytes: int) -> int:
        if shared_bytes > self.block_shared_bytes:
            return 0
        block = ceil((shared_bytes + self.reserved_bytes) / self.shared_unit) * self.shared_unit
        return self.shared_bytes // block if block else self.blocks


def _by_registers(warps: int, registers: int) -> int:
    if registers == 0:
        return _REGISTERS
    warp = ceil(registers * _WARP / _REGISTER_UNIT) * _REGISTER_UNIT
    if warp * ceil(warps / _PARTITIONS) * _PARTITIONS > _REGISTERS:
        return 0
    return _REGISTERS // _PARTITIONS // warp * _PARTITIONS // warps


def _rows() -> tuple[Architecture, ...]:
    large, small = (228 * _KIB, 227 * _KIB), (100 * _KIB, 99 * _KIB)
    return (
        Architecture("sm_70", 2048, 32, 96 * _KIB, 96 * _KIB, 0, 256),
        Architecture("sm_75", 1024, 16, 64 * _KIB, 64 * _KIB, 0, 256),
        Architecture("sm_80", 2048, 32, 164 * _KIB, 163 * _KIB),
        Architecture("sm_86", 1536, 16, *small),
        Architecture("sm_87", 1536, 16, 164 * _KIB, 163 * _KIB),
        Architecture("sm_89", 1536, 24, *small),
        Architecture("sm_90", 2048, 32, *large),
        Architecture("sm_100", 2048, 32, *large),
        Architecture("sm_103", 2048, 32, *large),
        Architecture("sm_120", 1536, 24, *small),
        Architecture("sm_121", 1536, 24, *small),
    )


ARCHITECTURES: Mapping[str, Architecture] = {row.name: row for row in _rows()}
"""By name. One that is newer than this table has no theoretical occupancy; everything else works."""

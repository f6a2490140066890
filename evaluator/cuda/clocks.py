"""Clocks of a device by NVML, where the library is there and may be asked."""

from __future__ import annotations

import ctypes

from evaluator.cuda.nvml import open_device

_SM, _MEMORY = 1, 2  # nvmlClockType_t


class Clocks:
    """One device.

    Args:
        bus_id: PCI address as the CUDA runtime prints it.
    """

    def __init__(self, bus_id: str) -> None:
        self._opened = open_device(bus_id)

    def now(self) -> tuple[int, int]:
        """(multiprocessors, memory) in MHz; zeros where they are not to be had."""
        return self._clock(_SM), self._clock(_MEMORY)

    def _clock(self, kind: int) -> int:
        value = ctypes.c_uint()
        if self._opened is None:
            return 0
        library, device = self._opened
        return value.value if library.nvmlDeviceGetClockInfo(device, kind, ctypes.byref(value)) == 0 else 0

"""Clocks of a device by NVML, where the library is there and may be asked."""

from __future__ import annotations

import ctypes

_SM, _MEMORY = 1, 2  # nvmlClockType_t


class Clocks:
    """One device.

    Args:
        bus_id: PCI address as the CUDA runtime prints it.
    """

    def __init__(self, bus_id: str) -> None:
        self._library: ctypes.CDLL | None = None
        self._device = ctypes.c_void_p()
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
            known = library.nvmlInit_v2() == 0
            if known and library.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(self._device)) == 0:
                self._library = library
        except (OSError, AttributeError):
            return

    def now(self) -> tuple[int, int]:
        """(multiprocessors, memory) in MHz; zeros where they are not to be had."""
        return self._clock(_SM), self._clock(_MEMORY)

    def _clock(self, kind: int) -> int:
        value = ctypes.c_uint()
        if self._library is None or self._library.nvmlDeviceGetClockInfo(self._device, kind, ctypes.byref(value)) != 0:
            return 0
        return value.value

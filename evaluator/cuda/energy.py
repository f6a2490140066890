"""The energy counter of a device by NVML, where the library is there and the device has one (Volta and later)."""

from __future__ import annotations

import ctypes


class EnergyCounter:
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

    def read_mj(self) -> int | None:
        """Millijoules since the driver was loaded, or None (``nvmlDeviceGetTotalEnergyConsumption``)."""
        value = ctypes.c_ulonglong()
        if self._library is None:
            return None
        try:
            told = self._library.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(value)) == 0
        except AttributeError:  # a library that is older than the counter
            return None
        return value.value if told else None

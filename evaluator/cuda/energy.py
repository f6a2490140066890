"""The energy counter of a device by NVML, where the library is there and the device has one (Volta and later)."""

from __future__ import annotations

import ctypes

from evaluator.cuda.nvml import open_device


class EnergyCounter:
    """One device.

    Args:
        bus_id: PCI address as the CUDA runtime prints it.
    """

    def __init__(self, bus_id: str) -> None:
        self._opened = open_device(bus_id)

    def read_mj(self) -> int | None:
        """Millijoules since the driver was loaded, or None (``nvmlDeviceGetTotalEnergyConsumption``)."""
        value = ctypes.c_ulonglong()
        if self._opened is None:
            return None
        library, device = self._opened
        try:
            told = library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)) == 0
        except AttributeError:  # a library that is older than the counter
            return None
        return value.value if told else None

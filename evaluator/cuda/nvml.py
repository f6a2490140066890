"""A device by NVML, NVIDIA's management library, where it is installed and may be asked."""

from __future__ import annotations

import ctypes


def open_device(bus_id: str) -> tuple[ctypes.CDLL, ctypes.c_void_p] | None:
    """The library and its handle of a device; None where either is not to be had.

    Args:
        bus_id: PCI address as the CUDA runtime prints it.
    """
    device = ctypes.c_void_p()
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        known = library.nvmlInit_v2() == 0
        if known and library.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(device)) == 0:
            return library, device
    except (OSError, AttributeError):
        return None
    return None

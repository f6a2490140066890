"""OpenCL devices: what they are, what they allow, which toolchain drives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyopencl as cl

from evaluator.backend import Backend, BackendFailure, DeviceFacts
from evaluator.result import DeviceInfo, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Target


def opencl_devices() -> list[cl.Device]:
    """All devices of all platforms, GPUs first, in the drivers' order."""
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return []
    found = []
    for platform in platforms:
        try:
            found += platform.get_devices()
        except cl.Error:
            continue
    return sorted(found, key=lambda device: not device.type & cl.device_type.GPU)


def describe(device: cl.Device, index: int) -> DeviceInfo:
    """The fingerprint of a device."""
    gpu = bool(device.type & cl.device_type.GPU)
    return DeviceInfo(
        id=f"opencl:{index}",
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        architecture=_architecture(device),
        kind="gpu" if gpu else "cpu",
        units=int(device.max_compute_units),
        memory_bytes=int(device.global_mem_size),
        l2_bytes=int(device.global_mem_cache_size),
        shared_bytes=int(device.local_mem_size),
        max_threads=int(device.max_work_group_size),
        clock_mhz=int(device.max_clock_frequency),
    )


def limits_of(device: cl.Device) -> DeviceLimits:
    """Launch limits of a device. Only the product of a grid's axes is bounded in OpenCL, beyond any real launch."""
    x, y, z = (int(most) for most in device.max_work_item_sizes[:3])
    return DeviceLimits(
        max_threads=int(device.max_work_group_size),
        max_block=(x, y, z),
        max_grid=(2**31 - 1, 2**31 - 1, 2**31 - 1),
        shared_bytes=int(device.local_mem_size),
        registers=0,
        units=int(device.max_compute_units),
    )


def toolchain_of(device: cl.Device) -> Toolchain:
    """Platform, driver and compiler of a device. PoCL hides both its own version and LLVM's in one long line."""
    platform, version = device.platform.version.strip(), device.version.strip()
    pocl, llvm = re.search(r"PoCL \S+", platform), re.search(r"LLVM \S+[^,\s]", platform)
    return Toolchain(
        platform=pocl.group(0) if pocl else f"{device.platform.name.strip()} {platform}",
        driver=device.driver_version.strip(),
        compiler=f"{llvm.group(0)} {_architecture(device)}" if llvm else version,
    )


def _architecture(device: cl.Device) -> str:
    """PoCL appends its target to the version (``PoCL HSTR: pthread-x86_64-...-znver3``); others have only a version."""
    version = device.version.strip()
    return version.rpartition("-")[2] if "HSTR" in version else version


class OpenCLPlatform:
    """See ``Platform``."""

    prefix = "opencl"

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Devices of every installed driver."""
        return tuple(describe(device, index) for index, device in enumerate(opencl_devices()))

    def absence(self) -> str:
        """How to get an OpenCL device."""
        return (
            "no OpenCL driver answers: `pip install pocl-binary-distribution` gives a CPU device on Linux x86-64; "
            "elsewhere install the vendor's driver or your system's PoCL package"
        )

    def environment(self, info: DeviceInfo, session: Path) -> Mapping[str, str]:
        """One pinned thread a core, machine code shared between compilers and worker, no second cache behind it."""
        del info
        return {
            "POCL_AFFINITY": "1",
            "POCL_CACHE_DIR": str(session / "pocl"),
            "PYOPENCL_NO_CACHE": "1",
        }

    def facts(self, index: int) -> DeviceFacts:
        """Hardware, limits, toolchain and language of a device."""
        device = _device(index)
        return DeviceFacts(describe(device, index), limits_of(device), toolchain_of(device), Target.OPENCL)

    def open(self, index: int) -> Backend:
        """The backend of the device with this index."""
        from evaluator.opencl.backend import OpenCLBackend  # it imports this module

        return OpenCLBackend(_device(index), index)


def _device(index: int) -> cl.Device:
    devices = opencl_devices()
    if index >= len(devices):
        raise BackendFailure(Status.LAUNCH_ERROR, f"there is no opencl:{index}; {len(devices)} devices answer")
    return devices[index]

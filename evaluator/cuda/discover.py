"""CUDA devices: what they are, what they allow, which toolchain drives them. Asking creates no device context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupy.cuda import runtime

from evaluator.backend import Backend, BackendFailure, DeviceFacts
from evaluator.cuda.failures import cuda_calls
from evaluator.cuda.nvrtc import MISSING, Nvrtc, NvrtcMissing
from evaluator.result import DeviceInfo, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Target

# Numbers of cudaDeviceAttr: some are no longer fields of the properties that CuPy reads.
_CLOCK_KHZ, _BLOCK_SHARED_BYTES = 13, 97
_DRIVER_FILE = Path("/proc/driver/nvidia/version")
_REGISTERS = 255


def count_devices() -> int:
    """Devices that answer; 0 without a driver, and on ROCm, whose compiler this backend does not speak to."""
    if runtime.is_hip:
        return 0
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError:
        return 0


def describe(index: int) -> DeviceInfo:
    """The fingerprint of a device."""
    about = _properties(index)
    with cuda_calls("asking for a device"):
        clock_khz, shared = (runtime.deviceGetAttribute(key, index) for key in (_CLOCK_KHZ, _BLOCK_SHARED_BYTES))
    return DeviceInfo(
        id=f"cuda:{index}",
        name=about["name"].decode(),
        vendor="NVIDIA",
        architecture=f"sm_{about['major']}{about['minor']}",
        kind="gpu",
        units=int(about["multiProcessorCount"]),
        memory_bytes=int(about["totalGlobalMem"]),
        l2_bytes=int(about["l2CacheSize"]),
        shared_bytes=int(shared),
        max_threads=int(about["maxThreadsPerBlock"]),
        clock_mhz=int(clock_khz) // 1000,
    )


def limits_of(index: int) -> DeviceLimits:
    """Launch limits. Shared memory is what a block may ask for at the launch; 48 KB of it may be static."""
    about = _properties(index)
    block, grid = ([int(most) for most in about[key]] for key in ("maxThreadsDim", "maxGridSize"))
    return DeviceLimits(
        max_threads=int(about["maxThreadsPerBlock"]),
        max_block=(block[0], block[1], block[2]),
        max_grid=(grid[0], grid[1], grid[2]),
        shared_bytes=describe(index).shared_bytes,
        registers=_REGISTERS,
        units=int(about["multiProcessorCount"]),
    )


def open_compiler() -> Nvrtc:
    """The compiler of the CUDA version that CuPy was built for, or another one.

    Raises:
        BackendFailure: If there is none.
    """
    try:
        return Nvrtc(runtime.runtimeGetVersion() // 1000)
    except NvrtcMissing as error:
        raise BackendFailure(Status.COMPILE_ERROR, str(error)) from error


def toolchain_of(index: int) -> Toolchain:
    """CUDA runtime, driver and compiler."""
    with cuda_calls("asking for the driver"):
        platform, driver = _version(runtime.runtimeGetVersion()), _version(runtime.driverGetVersion())
    return Toolchain(
        platform=f"CUDA {platform}",
        driver=_driver_release() or f"CUDA driver {driver}",
        compiler=f"NVRTC {open_compiler().version} {describe(index).architecture}",
    )


class CudaPlatform:
    """See ``Platform``."""

    prefix = "cuda"

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Devices of the NVIDIA driver, if there is a compiler for them."""
        try:
            open_compiler()
        except BackendFailure:
            return ()
        return tuple(describe(index) for index in range(count_devices()))

    def absence(self) -> str:
        """How to get a CUDA device."""
        if runtime.is_hip:
            return "this CuPy is built for ROCm, which the CUDA backend does not run on: use the OpenCL driver of ROCm"
        if count_devices():
            return MISSING
        return (
            "CuPy finds no CUDA device: `nvidia-smi` must list a GPU, with a driver for the CUDA version of the CuPy "
            "that is installed (cuda13 needs 580 or newer; `pip install 'evo-tune[cuda12]'` runs on older ones)"
        )

    def environment(self, info: DeviceInfo, session: Path) -> Mapping[str, str]:
        """No cache of compiled code in the user's home: machine code is loaded as it is, and logs are wanted."""
        del info, session
        return {"CUDA_CACHE_DISABLE": "1"}

    def facts(self, index: int) -> DeviceFacts:
        """Hardware, limits, toolchain and language of a device."""
        _require(index)
        return DeviceFacts(describe(index), limits_of(index), toolchain_of(index), Target.CUDA)

    def open(self, index: int) -> Backend:
        """The backend of the device with this index."""
        from evaluator.cuda.backend import CudaBackend  # it imports this module

        _require(index)
        return CudaBackend(index)


def _require(index: int) -> None:
    count = count_devices()
    if index >= count:
        raise BackendFailure(Status.LAUNCH_ERROR, f"there is no cuda:{index}; {count} devices answer")


def _properties(index: int) -> dict[str, Any]:
    with cuda_calls("asking for a device"):
        return dict(runtime.getDeviceProperties(index))


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _driver_release() -> str:
    """Such as ``580.159.04``; empty where the kernel module does not say."""
    try:
        found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", _DRIVER_FILE.read_text())
    except OSError:
        return ""
    return found[1] if found else ""

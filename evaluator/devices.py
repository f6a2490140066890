"""Which devices there are, and which one a name means."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from evaluator.api import EvaluatorError
from evaluator.backend import Backend, Caching, DeviceFacts, Platform
from evaluator.cache import DiskCache
from evaluator.result import DeviceInfo


class DeviceError(EvaluatorError):
    """There is no such device; the text says how to get one."""


def _opencl() -> Platform | None:
    try:
        from evaluator.opencl.discover import OpenCLPlatform
    except ImportError:
        return None
    return OpenCLPlatform()


def _cuda() -> Platform | None:
    try:
        from evaluator.cuda.discover import CudaPlatform
    except ImportError:
        return None
    return CudaPlatform()


PLATFORMS: tuple[tuple[str, Callable[[], Platform | None], str], ...] = (
    ("cuda", _cuda, "CuPy is not installed: `pip install 'evo-tune[cuda13]'` (CUDA 13) or 'evo-tune[cuda12]'"),
    ("opencl", _opencl, "pyopencl is not installed: `pip install pyopencl pocl-binary-distribution`"),
)
"""(prefix, opener, what to install), in the order in which ``auto`` prefers them."""


def list_devices() -> tuple[DeviceInfo, ...]:
    """Every device that is usable now, the one that ``auto`` takes first."""
    return tuple(info for _, opener, _ in PLATFORMS if (platform := opener()) for info in platform.devices())


def resolve_device(name: str) -> DeviceInfo:
    """The device that a campaign names: ``auto``, ``opencl:0``, ...

    Raises:
        DeviceError: If there is none; the text says how to get one.
    """
    devices = list_devices()
    if name == "auto":
        if not devices:
            raise DeviceError(f"no device to run on: {'; '.join(_absences())}")
        return devices[0]
    if not re.fullmatch(r"[a-z]+:\d+", name):
        raise DeviceError(f"'{name}' is no device name: use auto, or a platform and a number such as opencl:0")
    for device in devices:
        if device.id == name:
            return device
    here = ", ".join(device.id for device in devices) or "none"
    raise DeviceError(f"there is no device '{name}' (usable here: {here}). {_how_to_get(name)}")


def platform_of(name: str) -> Platform:
    """The platform of a device id.

    Raises:
        DeviceError: If it is not installed.
    """
    for prefix, opener, install in PLATFORMS:
        if name.startswith(f"{prefix}:"):
            platform = opener()
            if platform is None:
                raise DeviceError(install)
            return platform
    raise DeviceError(_how_to_get(name))


def open_backend(name: str, cache: DiskCache | None = None) -> Backend:
    """Opens a device by its id, in the process that will use it, with a cache of compilations where it can use one.

    Raises:
        DeviceError: If the platform is not installed.
        BackendFailure: If the device cannot be opened.
    """
    backend = platform_of(name).open(int(name.partition(":")[2]))
    if cache is not None and isinstance(backend, Caching):
        backend.use_cache(cache)
    return backend


def facts_of(name: str) -> DeviceFacts:
    """All that is known of a device before anything is compiled for it.

    Raises:
        DeviceError: If there is no such device.
    """
    info = resolve_device(name)
    return platform_of(info.id).facts(int(info.id.partition(":")[2]))


def environment_of(info: DeviceInfo, session: Path) -> dict[str, str]:
    """Environment variables of the processes that use a device."""
    return dict(platform_of(info.id).environment(info, session))


def _absences() -> list[str]:
    return [platform.absence() if (platform := opener()) else install for _, opener, install in PLATFORMS]


def _how_to_get(name: str) -> str:
    prefix = name.partition(":")[0]
    for known, opener, install in PLATFORMS:
        if known == prefix:
            platform = opener()
            if platform is None:
                return install
            return (
                f"`--device auto` takes the first one; {platform.absence()}"
                if not platform.devices()
                else ("`--device auto` takes the first one")
            )
    known = ", ".join(prefix for prefix, _, _ in PLATFORMS)
    return f"This version runs on the platforms {known}; `--device auto` takes the first device"

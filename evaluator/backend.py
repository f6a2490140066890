"""The Backend protocol: all that compiling, verifying and timing need to know of a platform.

One folder beside this file implements it for one platform. Everything above speaks of arguments, buffers and calls,
never of queues, contexts or streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evaluator.cache import DiskCache
from evaluator.plan import Call
from evaluator.result import DeviceInfo, Resources, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Target, Variant

Bytes = NDArray[np.uint8]

BARE_BUFFERS = "EVO_TUNE_BARE_BUFFERS"
"""Set in a process whose allocations a sanitizer watches: buffers have no canaries, which would hide accesses."""


class Placement(StrEnum):
    """Where a buffer's payload lies in its allocation.

    ``TIGHT`` ends it as close to the forbidden page (or the trailing canary) as the alignment allows, so that an access
    past the end is seen. ``ROOMY`` aligns its start generously, as an ordinary allocation does: that one is timed.
    """

    TIGHT = "tight"
    ROOMY = "roomy"


@dataclass(frozen=True)
class Binary:
    """What a compiler process hands to the device process.

    Attributes:
        variant: Digest of the variant.
        payload: Whatever the backend's ``load`` needs.
        options: Compile options.
        resources: What the compiler said.
        cached: True if nothing was compiled: an earlier result was there.
    """

    variant: str
    payload: bytes
    options: tuple[str, ...] = ()
    resources: Resources = field(default_factory=Resources)
    cached: bool = False


@dataclass(frozen=True)
class Peaks:
    """Measured ceilings of a device: copy bandwidth in GB/s, single-precision multiply-adds in GFLOP/s."""

    bandwidth_gbs: float = 0.0
    gflops: float = 0.0


@dataclass(frozen=True)
class DeviceFacts:
    """What is known of a device before anything is compiled for it."""

    info: DeviceInfo
    limits: DeviceLimits
    toolchain: Toolchain
    target: Target


class BackendFailure(Exception):
    """A compilation, an allocation or a launch failed; it becomes an Evaluation with this status and message.

    ``fatal`` says that the process can no longer use the device, whatever it asks for.
    """

    def __init__(self, status: Status, message: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.fatal = fatal


class Buffer(Protocol):
    """Device memory with canaries around a payload of ``nbytes``."""

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""

    def place(self, placement: Placement, alignment: int) -> None:
        """Chooses where the payload lies, and renews the canaries. Its contents are undefined afterwards.

        Args:
            placement: See ``Placement``.
            alignment: Bytes that the base pointer must be a multiple of (a power of two).
        """

    def write(self, data: Bytes) -> None:
        """Copies ``nbytes`` bytes to the payload."""

    def fill(self, byte: int) -> None:
        """Sets every byte of the payload."""

    def read(self) -> Bytes:
        """A copy of the payload."""

    def damage(self) -> str:
        """Empty if the canaries are whole, else where they changed (``4 bytes after the end``)."""

    def release(self) -> None:
        """Gives the memory back."""


class Loaded(Protocol):
    """A binary on the device."""

    @property
    def variant(self) -> str:
        """Digest of the variant."""


class Backend(Protocol):
    """One device of one platform, used by one process."""

    @property
    def info(self) -> DeviceInfo:
        """The hardware."""

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits."""

    @property
    def toolchain(self) -> Toolchain:
        """Driver and compiler."""

    @property
    def target(self) -> Target:
        """The language it compiles."""

    def compile(self, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]) -> Binary:
        """Compiles a variant, in a compiler process.

        Args:
            variant: What to compile.
            trials: Calls of the variant at the campaign's sizes. Where the platform compiles at the first launch, the
                backend runs one block of the cheapest ones.
            salt: Text that distinguishes this attempt from an earlier one that may have left a broken cache entry.
            notify: Called with ``compile`` whenever the compiler starts, with ``first launch`` where it may be the
                compiler or the launch, and with ``trial`` whenever only a launch runs.

        Raises:
            BackendFailure: With COMPILE_ERROR, LIMIT or LAUNCH_ERROR.
        """

    def load(self, binary: Binary) -> Loaded:
        """Loads a binary in the device process.

        Raises:
            BackendFailure: If it cannot be loaded.
        """

    def allocate(self, nbytes: int) -> Buffer:
        """New device memory.

        Raises:
            BackendFailure: With OUT_OF_MEMORY.
        """

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        """Runs every step in order, waits for the end, reads every return code.

        Returns:
            Milliseconds from the start of the first step to the end of the last, by the device's clock.

        Raises:
            BackendFailure: With LAUNCH_ERROR, LIMIT or OUT_OF_MEMORY.
        """

    def flush(self, cap_bytes: int) -> None:
        """Evicts the last-level cache by touching at least its size, at most ``cap_bytes``. Later runs wait for it."""

    def measure_peaks(self) -> Peaks:
        """Runs the platform's two small peak kernels (about a second)."""


@runtime_checkable
class Caching(Protocol):
    """A backend that can do without compiling what was compiled before."""

    def use_cache(self, cache: DiskCache) -> None:
        """Takes compilations from there from now on, and leaves them there."""


class Platform(Protocol):
    """How a platform's devices are found and opened."""

    @property
    def prefix(self) -> str:
        """First part of its device ids (``opencl``)."""

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Devices that are usable now; empty if the platform is not installed."""

    def facts(self, index: int) -> DeviceFacts:
        """All that is known of one device.

        Raises:
            BackendFailure: If there is no such device.
        """

    def absence(self) -> str:
        """Why there are none and how to get one, for a person."""

    def environment(self, info: DeviceInfo, session: Path) -> Mapping[str, str]:
        """Environment variables of the processes that use a device (threads, shared caches in ``session``)."""

    def open(self, index: int) -> Backend:
        """The backend of one device.

        Raises:
            BackendFailure: If it cannot be opened.
        """

"""The driver's return codes as failures. After some of them the whole process is lost to the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cupy.cuda import driver, runtime

from evaluator.backend import BackendFailure
from evaluator.result import Status

_OUT_OF_MEMORY = {2}
_LIMITS = {1, 9, 701}  # invalid value, invalid configuration, launch out of resources: at a launch, its geometry
_FATAL = {
    214: "an uncorrectable memory error",
    700: "it touched memory outside of its buffers",
    702: "the driver's watchdog ended it",
    709: "the context is gone",
    710: "an assertion in the kernel failed",
    714: "the stack overflowed, or the hardware failed",
    715: "an illegal instruction",
    716: "a misaligned address",
    717: "an instruction met memory of the wrong kind",
    718: "a jump to an invalid address",
    719: "it touched memory in a way that the hardware refuses",
    999: "the driver does not know why",
}
"""Sticky codes of the CUDA driver API: every later call of the process fails with the same one."""


@contextmanager
def cuda_calls(what: str, launch: bool = False) -> Iterator[None]:
    """Turns the exceptions of CuPy's driver and runtime calls into failures.

    Args:
        what: Is done, for the message (``the launch``).
        launch: An invalid value is a limit of the launch geometry.

    Raises:
        BackendFailure: With OUT_OF_MEMORY, LIMIT or LAUNCH_ERROR; ``fatal`` if the process must go.
    """
    try:
        yield
    except (driver.CUDADriverError, runtime.CUDARuntimeError) as error:
        raise failure(what, int(error.status), str(error), launch) from error


def failure(what: str, code: int, text: str, launch: bool = False) -> BackendFailure:
    """The failure of a call by its return code."""
    if code in _FATAL:
        return BackendFailure(Status.LAUNCH_ERROR, f"{what} killed the device context: {_FATAL[code]} ({text})", True)
    if code in _OUT_OF_MEMORY:
        return BackendFailure(Status.OUT_OF_MEMORY, f"{what}: out of device memory ({text})")
    if launch and code in _LIMITS:
        return BackendFailure(Status.LIMIT, f"the device refuses the launch geometry ({text})")
    return BackendFailure(Status.LAUNCH_ERROR, f"{what} failed: {text}")

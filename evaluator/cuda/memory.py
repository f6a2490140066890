"""Device memory with canaries on both sides."""

from __future__ import annotations

import numpy as np
from cupy.cuda import Stream, runtime

from evaluator.backend import BackendFailure, Bytes, Placement
from evaluator.canary import canary, describe_damage
from evaluator.cuda.failures import cuda_calls
from evaluator.result import Status

_MARGIN = 4096  # bytes of canary on each side, at least: a multiple of every alignment
_ROOMY = 256  # what cudaMalloc aligns to


class DeviceBuffer:
    """A payload inside a larger allocation; both canaries touch it.

    ``TIGHT`` places the base at the alignment asked for and at no larger one, so that a variant which counts on more
    faults instead of being lucky. ``ROOMY`` places it as cudaMalloc does. A ``bare`` one has no canaries: its
    allocation ends with the payload, for a sanitizer that watches allocations.
    """

    def __init__(self, stream: Stream, nbytes: int, bare: bool = False) -> None:
        self._stream, self._nbytes, self._bare = stream, nbytes, bare
        self._whole = nbytes if bare else nbytes + 2 * _MARGIN + _ROOMY
        with cuda_calls(f"an allocation of {nbytes} bytes"):
            self._base: int = runtime.malloc(self._whole)
        self._pattern = canary(self._whole - nbytes)
        self._offset = 0 if bare else _MARGIN
        self.place(Placement.ROOMY, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""
        return self._nbytes

    @property
    def pointer(self) -> int:
        """Device address of the payload."""
        if not self._base:
            raise BackendFailure(Status.LAUNCH_ERROR, "a released buffer was used")
        return self._base + self._offset

    def place(self, placement: Placement, alignment: int) -> None:
        """See ``Buffer.place``."""
        if alignment > _ROOMY:
            raise BackendFailure(Status.LIMIT, f"an alignment of {alignment} bytes; device memory has {_ROOMY}")
        if self._bare:
            return
        self._offset = _MARGIN + (alignment if placement is Placement.TIGHT and alignment < _ROOMY else 0)
        front, back = self._canaries()
        self._copy_in(self._base, front)
        self._copy_in(self._base + self._offset + self._nbytes, back)

    def write(self, data: Bytes) -> None:
        """See ``Buffer.write``."""
        self._copy_in(self.pointer, np.ascontiguousarray(data))

    def fill(self, byte: int) -> None:
        """See ``Buffer.fill``."""
        with cuda_calls("filling a buffer"):
            runtime.memsetAsync(self.pointer, byte, self._nbytes, self._stream.ptr)
            self._stream.synchronize()

    def read(self) -> Bytes:
        """See ``Buffer.read``."""
        return self._copy_out(self.pointer, self._nbytes)

    def damage(self) -> str:
        """See ``Buffer.damage``."""
        if self._bare:
            return ""
        front, back = self._canaries()
        found_front = self._copy_out(self._base, front.size)
        found_back = self._copy_out(self.pointer + self._nbytes, back.size)
        return describe_damage(found_front, found_back, front, back)

    def release(self) -> None:
        """See ``Buffer.release``. Idempotent."""
        if self._base:
            with cuda_calls("freeing a buffer"):
                runtime.free(self._base)
            self._base = 0

    def _canaries(self) -> tuple[Bytes, Bytes]:
        return self._pattern[: self._offset], self._pattern[self._offset :]

    def _copy_in(self, address: int, data: Bytes) -> None:
        with cuda_calls("a copy to the device"):
            runtime.memcpyAsync(address, data.ctypes.data, data.nbytes, runtime.memcpyHostToDevice, self._stream.ptr)
            self._stream.synchronize()

    def _copy_out(self, address: int, nbytes: int) -> Bytes:
        data: Bytes = np.empty(nbytes, np.uint8)
        with cuda_calls("a copy from the device"):
            runtime.memcpyAsync(data.ctypes.data, address, nbytes, runtime.memcpyDeviceToHost, self._stream.ptr)
            self._stream.synchronize()
        return data

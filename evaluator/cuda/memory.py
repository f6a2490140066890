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
_CANARY = 2 * _MARGIN + _MARGIN  # of both sides together: the payload may move by the largest alignment


class Pattern:
    """The bytes of all canaries, on the host and on the device of a stream."""

    def __init__(self, stream: Stream) -> None:
        self.data = canary(_CANARY)
        with cuda_calls("an allocation of canaries"):
            self.pointer: int = runtime.malloc(_CANARY)
            runtime.memcpyAsync(self.pointer, self.data.ctypes.data, _CANARY, runtime.memcpyHostToDevice, stream.ptr)
            stream.synchronize()


class DeviceBuffer:
    """A payload inside a larger allocation; both canaries touch it.

    ``TIGHT`` places the base at the alignment asked for and at no larger one, so that a variant which counts on more
    faults instead of being lucky. ``ROOMY`` places it as cudaMalloc does. A ``bare`` one has no canaries: its
    allocation ends with the payload, for a sanitizer that watches allocations.
    """

    def __init__(self, stream: Stream, nbytes: int, pattern: Pattern, bare: bool = False) -> None:
        self._stream, self._nbytes, self._pattern, self._bare = stream, nbytes, pattern, bare
        self._whole = nbytes if bare else nbytes + _CANARY
        with cuda_calls(f"an allocation of {nbytes} bytes"):
            self._base: int = runtime.malloc(self._whole)
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
        """See ``Buffer.place``. Returns at once; the stream orders it before the next run."""
        if alignment > _MARGIN:
            raise BackendFailure(Status.LIMIT, f"an alignment of {alignment} bytes; the evaluator has {_MARGIN}")
        if self._bare:
            return
        least, multiple = self._base + _MARGIN, max(alignment, _ROOMY)
        address = -(-least // multiple) * multiple
        if placement is Placement.TIGHT and alignment < _ROOMY:
            address += alignment
        self._offset = address - self._base
        with cuda_calls("writing the canaries"):
            for target, source, nbytes in self.margins():
                runtime.memcpyAsync(target, source, nbytes, runtime.memcpyDeviceToDevice, self._stream.ptr)

    def margins(self) -> tuple[tuple[int, int, int], ...]:
        """Of each canary: its address, that of what it must hold, and its bytes."""
        if self._bare:
            return ()
        front, back = self._offset, _CANARY - self._offset
        return (
            (self._base, self._pattern.pointer, front),
            (self.pointer + self._nbytes, self._pattern.pointer + front, back),
        )

    def write(self, data: Bytes) -> None:
        """See ``Buffer.write``."""
        self._copy_in(self.pointer, np.ascontiguousarray(data))

    def fill(self, byte: int) -> None:
        """See ``Buffer.fill``. Returns at once."""
        with cuda_calls("filling a buffer"):
            runtime.memsetAsync(self.pointer, byte, self._nbytes, self._stream.ptr)

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
        return self._pattern.data[: self._offset], self._pattern.data[self._offset :]

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

"""Buffers with canaries: between forbidden pages where host and device share memory, else in a larger allocation."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pyopencl as cl

from evaluator.backend import BackendFailure, Bytes, Placement
from evaluator.canary import canary, describe_damage
from evaluator.result import Status

_PAGE = mmap.PAGESIZE
_FORBIDDEN = 4096 * 4096  # bytes of address space without access on both sides: it costs no memory
_STAGGER = 256  # arrays that all start at a page boundary would compete for the same cache sets
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_MAP_FAILED = ctypes.c_void_p(-1).value
_MAP_NORESERVE = 0x4000
_NO_ACCESS = 0


class SharedBuffer:
    """Host memory that the device uses in place, between two forbidden zones (Linux and other POSIX systems)."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, nbytes: int, index: int) -> None:
        self._context, self._queue, self._nbytes = context, queue, nbytes
        self._start = _STAGGER * (1 + index % 8)
        self._inner = -(-(nbytes + _PAGE) // _PAGE) * _PAGE
        self._total = self._inner + 2 * _FORBIDDEN
        base = _LIBC.mmap(None, self._total, _NO_ACCESS, mmap.MAP_PRIVATE | mmap.MAP_ANON | _MAP_NORESERVE, -1, 0)
        if base in (None, _MAP_FAILED):
            raise BackendFailure(Status.OUT_OF_MEMORY, f"cannot map {self._total} bytes for a buffer")
        self._base = int(base)
        inner = self._base + _FORBIDDEN
        if _LIBC.mprotect(inner, self._inner, mmap.PROT_READ | mmap.PROT_WRITE) != 0:
            _LIBC.munmap(self._base, self._total)
            raise BackendFailure(Status.OUT_OF_MEMORY, f"cannot reserve {self._inner} bytes for a buffer")
        self._memory: Bytes = np.ctypeslib.as_array((ctypes.c_ubyte * self._inner).from_address(inner))
        self._pattern = canary(self._inner - nbytes)
        self._offset = 0
        self._buffer: cl.Buffer | None = None
        self.place(Placement.ROOMY, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""
        return self._nbytes

    @property
    def handle(self) -> cl.Buffer:
        """The OpenCL object."""
        if self._buffer is None:
            raise BackendFailure(Status.LAUNCH_ERROR, "a released buffer was used")
        return self._buffer

    def place(self, placement: Placement, alignment: int) -> None:
        """See ``Buffer.place``. The pages have a multiple of every sensible alignment as their base."""
        if placement is Placement.TIGHT:
            self._offset = (self._inner - self._nbytes) // alignment * alignment
        else:
            self._offset = -(-self._start // alignment) * alignment
        if self._buffer is not None:
            self._buffer.release()
        front, back = self._margins()
        front[:], back[:] = self._pattern[: front.size], self._pattern[front.size :]
        view = self._memory[self._offset : self._offset + self._nbytes]
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        try:
            self._buffer = cl.Buffer(self._context, flags, hostbuf=view)
        except cl.Error as error:
            raise BackendFailure(Status.OUT_OF_MEMORY, f"no device buffer of {self._nbytes} bytes: {error}") from error

    def write(self, data: Bytes) -> None:
        """See ``Buffer.write``."""
        cl.enqueue_copy(self._queue, self.handle, data, is_blocking=True)

    def fill(self, byte: int) -> None:
        """See ``Buffer.fill``."""
        cl.enqueue_fill_buffer(self._queue, self.handle, np.full(1, byte, np.uint8), 0, self._nbytes).wait()

    def read(self) -> Bytes:
        """See ``Buffer.read``."""
        data: Bytes = np.empty(self._nbytes, np.uint8)
        cl.enqueue_copy(self._queue, data, self.handle, is_blocking=True)
        return data

    def damage(self) -> str:
        """See ``Buffer.damage``."""
        front, back = self._margins()
        return describe_damage(front, back, self._pattern[: front.size], self._pattern[front.size :])

    def release(self) -> None:
        """See ``Buffer.release``. Idempotent."""
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None
            self._memory = np.empty(0, np.uint8)
            _LIBC.munmap(self._base, self._total)

    def _margins(self) -> tuple[Bytes, Bytes]:
        return self._memory[: self._offset], self._memory[self._offset + self._nbytes :]


class DeviceBuffer:
    """Memory of a device of its own: a sub-buffer with canaries on both sides. Both placements are the same."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, nbytes: int, margin: int) -> None:
        self._queue, self._nbytes, self._margin = queue, nbytes, margin
        try:
            self._whole = cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes + 2 * margin)
            self._part = self._whole.get_sub_region(margin, nbytes)
        except cl.Error as error:
            raise BackendFailure(Status.OUT_OF_MEMORY, f"no device buffer of {nbytes} bytes: {error}") from error
        self._released = False
        self.place(Placement.ROOMY, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""
        return self._nbytes

    @property
    def handle(self) -> cl.Buffer:
        """The OpenCL object."""
        return self._part

    def place(self, placement: Placement, alignment: int) -> None:
        """See ``Buffer.place``: the base is a multiple of the device's own alignment, whatever is asked."""
        del placement, alignment
        self._copy(self._whole, canary(self._margin), 0)
        self._copy(self._whole, canary(self._margin, self._margin), self._margin + self._nbytes)

    def write(self, data: Bytes) -> None:
        """See ``Buffer.write``."""
        self._copy(self._part, data, 0)

    def fill(self, byte: int) -> None:
        """See ``Buffer.fill``."""
        cl.enqueue_fill_buffer(self._queue, self._part, np.full(1, byte, np.uint8), 0, self._nbytes).wait()

    def read(self) -> Bytes:
        """See ``Buffer.read``."""
        data: Bytes = np.empty(self._nbytes, np.uint8)
        cl.enqueue_copy(self._queue, data, self._part, is_blocking=True)
        return data

    def damage(self) -> str:
        """See ``Buffer.damage``."""
        front: Bytes = np.empty(self._margin, np.uint8)
        back: Bytes = np.empty(self._margin, np.uint8)
        cl.enqueue_copy(self._queue, front, self._whole, is_blocking=True)
        cl.enqueue_copy(self._queue, back, self._whole, src_offset=self._margin + self._nbytes, is_blocking=True)
        return describe_damage(front, back, canary(self._margin), canary(self._margin, self._margin))

    def release(self) -> None:
        """See ``Buffer.release``. Idempotent."""
        if not self._released:
            self._released = True
            self._part.release()
            self._whole.release()

    def _copy(self, target: cl.Buffer, data: Any, offset: int) -> None:
        cl.enqueue_copy(self._queue, target, data, dst_offset=offset, is_blocking=True)

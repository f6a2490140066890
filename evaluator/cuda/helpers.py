"""The backend's own kernels on one stream: holding it back, evicting the L2 cache, measuring the device's peaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cupy.cuda import Event, Stream, get_elapsed_time, runtime
from cupy.cuda.function import Module

from evaluator.backend import BackendFailure
from evaluator.cuda.device_code import CHAINS, SOURCE, STEPS
from evaluator.cuda.nvrtc import Nvrtc
from evaluator.result import Status

_THREADS = 256
_COPY_BYTES = 512 * 1024 * 1024
_REPEATS = 12
_BLOCKS = 4096


class Helpers:
    """See the module.

    Raises:
        BackendFailure: If the compiler cannot make code for the architecture.
    """

    def __init__(self, nvrtc: Nvrtc, architecture: str, stream: Stream) -> None:
        result = nvrtc.compile(SOURCE, "device_code.cu", (f"-arch={architecture}",))
        if not result.ok:
            text = f"NVRTC {nvrtc.version} makes no code for {architecture}: {result.log[:300]}"
            raise BackendFailure(Status.COMPILE_ERROR, text)
        self._stream = stream
        self._module = Module()
        self._module.load(result.cubin)
        self._hold, self._sweep = self._module.get_function("hold"), self._module.get_function("sweep")
        self._swept, self._swept_bytes = 0, 0

    def hold(self, microseconds: int) -> None:
        """Keeps the stream waiting for a while; returns at once."""
        self._hold((1, 1, 1), (1, 1, 1), (np.uint32(microseconds),), 0, self._stream)

    def sweep(self, nbytes: int) -> None:
        """Reads that many bytes; returns at once."""
        if nbytes > self._swept_bytes:
            if self._swept:
                runtime.free(self._swept)
            self._swept, self._swept_bytes = runtime.malloc(nbytes + 16), nbytes
            runtime.memsetAsync(self._swept, 0, nbytes + 16, self._stream.ptr)
        args = (np.uint64(self._swept), np.uint64(self._swept + self._swept_bytes // 16 * 16), np.uint64(nbytes // 16))
        self._sweep((_BLOCKS, 1, 1), (_THREADS, 1, 1), args, 0, self._stream)

    def copy_bandwidth(self, l2_bytes: int) -> float:
        """Bytes read and written by a copy of arrays much larger than the L2 cache, in GB/s, best of several runs."""
        nbytes = max(_COPY_BYTES, 4 * l2_bytes) // 16 * 16
        copy = self._module.get_function("copy")
        base = runtime.malloc(2 * nbytes)
        runtime.memsetAsync(base, 1, 2 * nbytes, self._stream.ptr)
        args = (np.uint64(base), np.uint64(base + nbytes), np.uint64(nbytes // 16))
        blocks = nbytes // 16 // _THREADS
        ms = self._best_ms(lambda: copy((blocks, 1, 1), (_THREADS, 1, 1), args, 0, self._stream))
        runtime.free(base)
        return 2.0 * nbytes / ms * 1e-6

    def multiply_add_peak(self, units: int) -> float:
        """Single-precision GFLOP/s of independent multiply-adds in registers, best of several runs."""
        peak = self._module.get_function("peak")
        blocks = 32 * units
        result = runtime.malloc(blocks * _THREADS * 4)
        args = (np.uint64(result), np.float32(0.999), np.float32(0.001))
        ms = self._best_ms(lambda: peak((blocks, 1, 1), (_THREADS, 1, 1), args, 0, self._stream))
        runtime.free(result)
        return 2.0 * CHAINS * STEPS * blocks * _THREADS / ms * 1e-6

    def _best_ms(self, launch: Callable[[], None]) -> float:
        best = float("inf")
        start, stop = Event(), Event()
        for _ in range(_REPEATS):
            start.record(self._stream)
            launch()
            stop.record(self._stream)
            stop.synchronize()
            best = min(best, float(get_elapsed_time(start, stop)))
        return best

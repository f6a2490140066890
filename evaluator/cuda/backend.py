"""Compiles variants with NVRTC and runs them through CuPy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from cupy.cuda import Device, Stream, driver, runtime
from cupy.cuda.function import Function, Module

from evaluator.backend import BARE_BUFFERS, BackendFailure, Binary, Buffer, Bytes, Loaded, Peaks
from evaluator.cache import DiskCache
from evaluator.cuda.clocks import Clocks
from evaluator.cuda.compile import compile_variant
from evaluator.cuda.cubin import variables
from evaluator.cuda.discover import describe, limits_of, open_compiler, toolchain_of
from evaluator.cuda.energy import EnergyCounter
from evaluator.cuda.failures import cuda_calls
from evaluator.cuda.helpers import Helpers
from evaluator.cuda.judge import Judge, KeptArray, device_buffer
from evaluator.cuda.memory import DeviceBuffer, Pattern
from evaluator.cuda.nvrtc import Nvrtc
from evaluator.cuda.repeat import Repeater
from evaluator.cuda.together import StreamSet
from evaluator.energy import per_call
from evaluator.plan import BoundLaunch, Call
from evaluator.resident import Finding, Kept, Preparation, Question
from evaluator.result import DeviceInfo, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Memset, Target, Variant

_METERED = 16  # calls between two looks at the energy counter
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class LoadedModule:
    """Machine code on the device, with its functions by entry."""

    def __init__(self, variant: str, cubin: bytes) -> None:
        self.variant = variant
        self._module = Module()
        with cuda_calls("loading the machine code"):
            self._module.load(cubin)
        self._variables = variables(cubin)
        self._functions: dict[str, Function] = {}
        self._dynamic: dict[str, int] = {}

    def function(self, launch: BoundLaunch) -> Function:
        """The entry of a launch, allowed to use the dynamic shared memory that the launch asks for."""
        if launch.entry not in self._functions:
            self._functions[launch.entry] = self._module.get_function(launch.entry)
        function = self._functions[launch.entry]
        if launch.shared_bytes > self._dynamic.get(launch.entry, 0):
            driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED, launch.shared_bytes)
            self._dynamic[launch.entry] = launch.shared_bytes
        return function

    def variable(self, name: str) -> int | None:
        """Address of a ``__constant__`` or ``__device__`` variable; None if the code does not read it."""
        placed = self._variables.get(name)
        return None if placed is None else int(self._module.get_global_var(placed.symbol))


class _Session:
    """What exists once the device is in use: a stream, and the backend's own kernels."""

    def __init__(self, index: int, nvrtc: Nvrtc, architecture: str) -> None:
        with cuda_calls("opening the device"):
            Device(index).use()
            self.stream = Stream(non_blocking=True)
            self.clocks = Clocks(runtime.deviceGetPCIBusId(index))
            self.energy = EnergyCounter(runtime.deviceGetPCIBusId(index))
        self.helpers = Helpers(nvrtc, architecture, self.stream)
        self.judge = Judge(nvrtc, architecture, self.stream)
        self.repeater = Repeater(self.stream, self.helpers)
        self.together = StreamSet(self.stream, self.helpers)
        self.pattern = Pattern(self.stream)

    def allocate(self, nbytes: int, bare: bool) -> DeviceBuffer:
        """New memory; copies make room for it."""
        try:
            return DeviceBuffer(self.stream, nbytes, self.pattern, bare)
        except BackendFailure as failure:
            if failure.status is not Status.OUT_OF_MEMORY or not self.judge.give_up_copies():
                raise
        return DeviceBuffer(self.stream, nbytes, self.pattern, bare)


class CudaBackend:
    """One CUDA device in this process. See ``Backend`` for the methods.

    The device is opened by the first call that needs it: a compiler process never does.
    """

    def __init__(self, index: int) -> None:
        self._index = index
        self._info = describe(index)
        self._limits = limits_of(index)
        self._nvrtc = open_compiler()
        self._open: _Session | None = None

    @property
    def info(self) -> DeviceInfo:
        """The hardware."""
        return self._info

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits."""
        return self._limits

    @property
    def toolchain(self) -> Toolchain:
        """CUDA version, driver and compiler."""
        return toolchain_of(self._index)

    @property
    def target(self) -> Target:
        """CUDA C++."""
        return Target.CUDA

    def compile(self, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]) -> Binary:
        """See ``Backend.compile``. The payload is machine code for this device's architecture."""
        return compile_variant(self._nvrtc, self._info.architecture, variant, trials, salt, notify)

    def use_cache(self, cache: DiskCache) -> None:
        """See ``Caching.use_cache``: machine code with its log, for the backend's own kernels too."""
        self._nvrtc.use_cache(cache)

    def load(self, binary: Binary) -> LoadedModule:
        """See ``Backend.load``."""
        self._session()
        return LoadedModule(binary.variant, binary.payload)

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """See ``Backend.allocate``."""
        return self._session().allocate(nbytes, BARE_BUFFERS in os.environ)

    def keep(self, data: Bytes) -> KeptArray | None:
        """See ``Comparing.keep``."""
        return self._session().judge.keep(data)

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        """See ``Comparing.restore``."""
        self._session().judge.restore(buffer, kept)

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        """See ``Comparing.examine``."""
        return self._session().judge.examine(questions)

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        """See ``Backend.run``.

        Everything is enqueued behind a kernel that keeps the device waiting, so that the time between the two events
        holds no gap in which the device waits for this process.
        """
        return self._times(loaded, call, buffers, [], 1)[0]

    def repeat(
        self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], before: Preparation, count: int
    ) -> tuple[float, ...]:
        """See ``Repeating.repeat``."""
        session = self._session()
        preparations: list[Callable[[], None]] = [
            partial(session.judge.restore, buffer, kept) for buffer, kept in before.copies
        ]
        preparations += [partial(buffer.fill, byte) for buffer, byte in before.fills]
        if before.flush_bytes:
            preparations.append(partial(session.helpers.sweep, self._evicting(before.flush_bytes)))
        return tuple(self._times(loaded, call, buffers, preparations, count))

    def run_together(self, loaded: Loaded, call: Call, copies: Sequence[Mapping[str, Buffer]]) -> float:
        """See ``Together.run_together``."""
        session, module = self._session(), _module(loaded)
        with cuda_calls("the launch", launch=True):
            for fill in self._fillings(module, call, copies[0]):
                fill()
            streams = session.together.streams(len(copies))
            calls = [
                [self._prepare(module, step, buffers, stream) for step in call.steps]
                for stream, buffers in zip(streams, copies, strict=True)
            ]
        return session.together.time(calls)

    def energy_mj(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], seconds: float) -> float | None:
        """See ``Metered.energy_mj``."""
        session, module = self._session(), _module(loaded)
        with cuda_calls("the launch", launch=True):
            for fill in self._fillings(module, call, buffers):
                fill()
            steps = [self._prepare(module, step, buffers, session.stream) for step in call.steps]

        def some() -> int:
            for _ in range(_METERED):
                for step in steps:
                    step()
            session.stream.synchronize()
            return _METERED

        with cuda_calls("the run"):
            return per_call(session.energy.read_mj, some, seconds, time.monotonic)

    def flush(self, cap_bytes: int) -> None:
        """See ``Backend.flush``. Reads twice the L2 cache; the stream orders it before the next run."""
        with cuda_calls("evicting the cache"):
            self._session().helpers.sweep(self._evicting(cap_bytes))

    def _times(
        self,
        loaded: Loaded,
        call: Call,
        buffers: Mapping[str, Buffer],
        before: Sequence[Callable[[], None]],
        count: int,
    ) -> list[float]:
        session, module = self._session(), _module(loaded)
        with cuda_calls("the launch", launch=True):
            fillings = self._fillings(module, call, buffers)
            steps = [self._prepare(module, step, buffers, session.stream) for step in call.steps]
        return session.repeater.times([*fillings, *before], steps, count)

    def _evicting(self, cap_bytes: int) -> int:
        return min(2 * max(self._info.l2_bytes, 1 << 20), cap_bytes)

    def clocks(self) -> tuple[int, int]:
        """See ``Clocked.clocks``."""
        return self._session().clocks.now()

    def measure_peaks(self) -> Peaks:
        """See ``Backend.measure_peaks``."""
        helpers = self._session().helpers
        with cuda_calls("measuring the peaks"):
            return Peaks(helpers.copy_bandwidth(self._info.l2_bytes), helpers.multiply_add_peak(self._info.units))

    def _session(self) -> _Session:
        if self._open is None:
            self._open = _Session(self._index, self._nvrtc, self._info.architecture)
        return self._open

    def _fillings(self, module: LoadedModule, call: Call, buffers: Mapping[str, Buffer]) -> list[Callable[[], None]]:
        """What fills the program's variables, on the stream that the calls wait for."""
        stream = self._session().stream.ptr

        def filling(target: int, given: str | np.generic) -> Callable[[], None]:
            if isinstance(given, str):
                source, nbytes = device_buffer(buffers[given]).pointer, call.buffers[given]
                return lambda: runtime.memcpyAsync(target, source, nbytes, runtime.memcpyDeviceToDevice, stream)
            value = np.array(given)
            return lambda: runtime.memcpyAsync(
                target, value.ctypes.data, value.nbytes, runtime.memcpyHostToDevice, stream
            )

        targets = ((module.variable(name), given) for name, given in call.variables)
        return [filling(target, given) for target, given in targets if target is not None]

    def _prepare(
        self, loaded: LoadedModule, step: Memset | BoundLaunch, buffers: Mapping[str, Buffer], stream: Stream
    ) -> Callable[[], None]:
        """A step with everything looked up, so that enqueuing it takes microseconds."""
        if isinstance(step, Memset):
            target = device_buffer(buffers[step.buffer])
            pointer, value, nbytes = target.pointer, step.value, target.nbytes
            return lambda: runtime.memsetAsync(pointer, value, nbytes, stream.ptr)
        threads, most = prod(step.block), self._limits.max_threads
        if threads > most:
            text = f"'{step.entry}' asks for {threads} threads in a block; the device allows {most}"
            raise BackendFailure(Status.LIMIT, text)
        function = loaded.function(step)
        args: tuple[Any, ...] = tuple(
            np.uint64(device_buffer(buffers[arg]).pointer) if isinstance(arg, str) else arg for arg in step.args
        )
        return lambda: function(step.grid, step.block, args, step.shared_bytes, stream)


def _module(loaded: Loaded) -> LoadedModule:
    if not isinstance(loaded, LoadedModule):
        raise TypeError(f"not a module of this backend: {loaded!r}")
    return loaded

"""Compiles and runs variants through OpenCL."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyopencl as cl

from evaluator.backend import BackendFailure, Binary, Buffer, Loaded, Peaks, Placement
from evaluator.opencl.discover import describe, limits_of, toolchain_of
from evaluator.opencl.memory import DeviceBuffer, SharedBuffer
from evaluator.opencl.peaks import copy_bandwidth, multiply_add_peak
from evaluator.plan import BoundLaunch, Call
from evaluator.result import DeviceInfo, Resources, Status, Toolchain
from genome.limits import DeviceLimits
from genome.variant import Memset, Target, Variant

_SMALL_GRID = 65535  # PoCL compiles a kernel once for global sizes up to this, and once more beyond
_LOG_LINES = 12


@dataclass(frozen=True)
class LoadedProgram:
    """A program with its kernel objects by entry."""

    variant: str
    kernels: Mapping[str, cl.Kernel]


class OpenCLBackend:
    """One OpenCL device in this process. See ``Backend`` for the methods."""

    def __init__(self, device: cl.Device, index: int) -> None:
        self._device = device
        self._info = describe(device, index)
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._queues: list[cl.CommandQueue] = []  # of calls that are started together
        self._allocated = 0
        self._flush_kernel: cl.Kernel | None = None
        self._flush_buffer: cl.Buffer | None = None

    @property
    def info(self) -> DeviceInfo:
        """The hardware."""
        return self._info

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits."""
        return limits_of(self._device)

    @property
    def toolchain(self) -> Toolchain:
        """Driver and compiler."""
        return toolchain_of(self._device)

    @property
    def target(self) -> Target:
        """OpenCL C."""
        return Target.OPENCL

    def compile(self, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]) -> Binary:
        """See ``Backend.compile``. The payload is the source: the driver's own cache holds the machine code."""
        source = variant.source + (f"\n// {salt}\n" if salt else "\n")
        notify("compile")
        entries = tuple(dict.fromkeys(launch.entry for launch in variant.launches))
        kernels = self._build(source, variant.options, entries)
        self._check_arguments(variant, kernels)
        if self._info.kind == "cpu":
            for call, launch in _cheapest_trials(trials):
                self._try(kernels[launch.entry], call, launch, notify)
        return Binary(variant.digest(), source.encode(), variant.options, self._resources(kernels))

    def load(self, binary: Binary) -> LoadedProgram:
        """See ``Backend.load``."""
        return LoadedProgram(binary.variant, self._build(binary.payload.decode(), binary.options, None))

    def allocate(self, nbytes: int) -> SharedBuffer | DeviceBuffer:
        """See ``Backend.allocate``."""
        self._allocated += 1
        if self._info.kind == "cpu":
            return SharedBuffer(self._context, self._queue, nbytes, self._allocated)
        margin = max(4096, self._device.mem_base_addr_align // 8)
        return DeviceBuffer(self._context, self._queue, nbytes, margin)

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        """See ``Backend.run``."""
        if not isinstance(loaded, LoadedProgram):
            raise TypeError(f"not a program of this backend: {loaded!r}")
        try:
            events = [self._step(loaded, step, buffers, self._queue) for step in call.steps]
            cl.wait_for_events(events)
        except (cl.Error, KeyError) as error:
            raise launch_failure(error) from error
        return float(events[-1].profile.end - events[0].profile.start) * 1e-6

    def run_together(self, loaded: Loaded, call: Call, copies: Sequence[Mapping[str, Buffer]]) -> float:
        """See ``Together.run_together``: a queue for each call; none of them begins before all is enqueued."""
        if not isinstance(loaded, LoadedProgram):
            raise TypeError(f"not a program of this backend: {loaded!r}")
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        while len(self._queues) < len(copies):
            self._queues.append(cl.CommandQueue(self._context, properties=profiling))
        self._queue.finish()  # what fills the buffers stands in another queue
        gate, events = cl.UserEvent(self._context), []
        try:
            for queue, buffers in zip(self._queues, copies, strict=False):
                cl.enqueue_barrier(queue, wait_for=[gate])
                events += [self._step(loaded, step, buffers, queue) for step in call.steps]
                queue.flush()
        except (cl.Error, KeyError) as error:
            gate.set_status(cl.command_execution_status.COMPLETE)
            for queue in self._queues:  # what was enqueued before must not run beside what comes next
                queue.finish()
            raise launch_failure(error) from error
        gate.set_status(cl.command_execution_status.COMPLETE)
        try:
            cl.wait_for_events(events)
        except cl.Error as error:
            raise launch_failure(error) from error
        return float(max(e.profile.end for e in events) - min(e.profile.start for e in events)) * 1e-6

    def flush(self, cap_bytes: int) -> None:
        """See ``Backend.flush``. A kernel on all cores, since each has caches of its own."""
        nbytes = min(max(self._info.l2_bytes, 1 << 20), cap_bytes) // 4096 * 4096
        if self._flush_kernel is None or self._flush_buffer is None or self._flush_buffer.size != nbytes:
            text = "__kernel void touch(__global float4 *a) { a[get_global_id(0)] += 1.0f; }"
            self._flush_kernel = self._build(text, (), ("touch",))["touch"]
            self._flush_buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            cl.enqueue_fill_buffer(self._queue, self._flush_buffer, np.zeros(1, np.uint8), 0, nbytes)
            self._flush_kernel.set_args(self._flush_buffer)
        cl.enqueue_nd_range_kernel(self._queue, self._flush_kernel, (nbytes // 16,), (256,)).wait()

    def measure_peaks(self) -> Peaks:
        """See ``Backend.measure_peaks``."""
        try:
            return Peaks(copy_bandwidth(self._context, self._queue), multiply_add_peak(self._context, self._queue))
        except cl.Error as error:
            raise launch_failure(error) from error

    def _build(self, source: str, options: Sequence[str], entries: Sequence[str] | None) -> dict[str, cl.Kernel]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # compiler warnings of generated code are of no use to anybody
                program = cl.Program(self._context, source).build(options=list(options))
                if entries is None:
                    return {kernel.function_name: kernel for kernel in program.all_kernels()}
                return {entry: cl.Kernel(program, entry) for entry in entries}
        except cl.Error as error:
            if getattr(error, "code", None) == cl.status_code.INVALID_KERNEL_NAME:
                text = f"the compiled source has no kernel named {', '.join(entries or ())}"
                raise BackendFailure(Status.COMPILE_ERROR, text) from error
            raise BackendFailure(Status.COMPILE_ERROR, _shorten(str(error))) from error

    def _check_arguments(self, variant: Variant, kernels: Mapping[str, cl.Kernel]) -> None:
        for launch in variant.launches:
            have = kernels[launch.entry].num_args
            if have not in (len(launch.args), len(launch.args) + 1):
                text = f"kernel '{launch.entry}' takes {have} arguments, the launch passes {len(launch.args)}"
                raise BackendFailure(Status.COMPILE_ERROR, text)

    def _step(
        self, loaded: LoadedProgram, step: Memset | BoundLaunch, buffers: Mapping[str, Buffer], queue: cl.CommandQueue
    ) -> cl.Event:
        if isinstance(step, Memset):
            target, byte = _handle(buffers[step.buffer]), np.full(1, step.value, np.uint8)
            return cl.enqueue_fill_buffer(queue, target, byte, 0, target.size)
        return self._enqueue(loaded.kernels[step.entry], step, buffers, queue)

    def _enqueue(
        self, kernel: cl.Kernel, launch: BoundLaunch, buffers: Mapping[str, Buffer], queue: cl.CommandQueue
    ) -> cl.Event:
        args: list[Any] = [_handle(buffers[arg]) if isinstance(arg, str) else arg for arg in launch.args]
        if kernel.num_args == len(args) + 1:  # dynamic shared memory is one more __local pointer
            args.append(cl.LocalMemory(max(launch.shared_bytes, 1)))
        kernel.set_args(*args)
        shape = tuple(blocks * threads for blocks, threads in zip(launch.grid, launch.block, strict=True))
        return cl.enqueue_nd_range_kernel(queue, kernel, shape, launch.block)

    def _try(self, kernel: cl.Kernel, call: Call, launch: BoundLaunch, notify: Callable[[str], None]) -> None:
        """Runs a few blocks, so that a compiler which works at the first launch does so here."""
        notify("first launch")
        buffers = {name: self.allocate(size) for name, size in {**call.buffers, **call.scratch}.items()}
        try:
            for name, buffer in buffers.items():
                buffer.place(Placement.ROOMY, call.alignments[name])
                buffer.fill(0)
            event = self._enqueue(kernel, launch, buffers, self._queue)
            self._queue.flush()
            while event.command_execution_status > cl.command_execution_status.RUNNING:
                time.sleep(0.001)
            notify("trial")
            event.wait()
        except cl.Error as error:
            raise launch_failure(error) from error
        finally:
            for buffer in buffers.values():
                buffer.release()

    def _resources(self, kernels: Mapping[str, cl.Kernel]) -> Resources:
        which = cl.kernel_work_group_info
        sizes = (int(k.get_work_group_info(which.LOCAL_MEM_SIZE, self._device)) for k in kernels.values())
        shared = max(sizes, default=0)
        if shared > self.limits.shared_bytes:
            text = f"{shared} bytes of shared memory; the device allows {self.limits.shared_bytes}"
            raise BackendFailure(Status.LIMIT, text)
        return Resources(shared_bytes=shared)


def launch_failure(error: Exception) -> BackendFailure:
    """The failure of a launch, by its return code."""
    code = getattr(error, "code", None)
    names = cl.status_code
    if code in (names.MEM_OBJECT_ALLOCATION_FAILURE, names.OUT_OF_RESOURCES, names.OUT_OF_HOST_MEMORY):
        return BackendFailure(Status.OUT_OF_MEMORY, f"out of memory at the launch: {error}")
    if code in (names.INVALID_WORK_GROUP_SIZE, names.INVALID_WORK_ITEM_SIZE, names.INVALID_GLOBAL_WORK_SIZE):
        return BackendFailure(Status.LIMIT, f"the device refuses the launch geometry: {error}")
    return BackendFailure(Status.LAUNCH_ERROR, f"the launch failed: {error}")


def _handle(buffer: Buffer) -> cl.Buffer:
    if not isinstance(buffer, (SharedBuffer, DeviceBuffer)):
        raise TypeError(f"not a buffer of this backend: {buffer!r}")
    return buffer.handle


def _cheapest_trials(calls: Sequence[Call]) -> list[tuple[Call, BoundLaunch]]:
    """One launch of a few blocks for each (step, grid class), at the size with the least memory."""
    best: dict[tuple[str, tuple[int, int, int], bool], tuple[int, Call, BoundLaunch]] = {}
    for call in calls:
        cost = sum(call.buffers.values())
        for launch in call.launches:
            wide = max(g * b for g, b in zip(launch.grid, launch.block, strict=True)) > _SMALL_GRID
            key = (launch.entry, launch.block, wide)
            if key not in best or cost < best[key][0]:
                best[key] = (cost, call, replace(launch, grid=_trim(launch, wide)))
    return [(call, launch) for _, call, launch in best.values()]


def _trim(launch: BoundLaunch, wide: bool) -> tuple[int, int, int]:
    """The fewest blocks of the real grid that are still in the same grid class."""
    if not wide:
        return (1, 1, 1)
    widths = [g * b for g, b in zip(launch.grid, launch.block, strict=True)]
    axis = widths.index(max(widths))
    grid = [1, 1, 1]
    grid[axis] = _SMALL_GRID // launch.block[axis] + 1
    return (grid[0], grid[1], grid[2])


def _shorten(log: str) -> str:
    """The compiler's own lines, without temporary paths and the wrapper's frame."""
    log = re.sub(r"\S*tempfile_\w+\.cl:", "line ", log)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wanted = [line for line in lines if "error" in line.lower() and "clBuildProgram" not in line] or lines
    more = f" (and {len(wanted) - _LOG_LINES} more lines)" if len(wanted) > _LOG_LINES else ""
    return "\n".join(wanted[:_LOG_LINES]) + more

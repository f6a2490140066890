"""Runs printed OpenCL variants on the CPU in a process of its own, apart from the product's evaluator."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from genome.spec import KernelSpec
from genome.variant import Launch, Memset, Target, Variant

CANARY = 64
POISON = 0xA5
DEADLINE_S = 90.0


@dataclass(frozen=True)
class Job:
    """One variant with its buffers (flat arrays, canaries included) at one size."""

    source: str
    options: tuple[str, ...]
    steps: tuple[tuple[str, tuple[int, ...], tuple[int, ...], tuple[str, ...]], ...]
    buffers: Mapping[str, np.ndarray]
    scalars: Mapping[str, np.generic]


_BUILT: dict[Any, Any] = {}
"""Of the child process: its context, and programs by source and options, since one variant runs at several sizes."""


def _run(job: Job) -> dict[str, np.ndarray]:
    os.environ["POCL_AFFINITY"] = "1"
    import pyopencl as cl

    if "context" not in _BUILT:
        _BUILT["context"] = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    context = _BUILT["context"]
    queue = cl.CommandQueue(context)
    key = (job.source, job.options)
    if key not in _BUILT:
        _BUILT[key] = cl.Program(context, job.source).build(list(job.options))
    program = _BUILT[key]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    memory = {name: cl.Buffer(context, flags, hostbuf=array) for name, array in job.buffers.items()}
    kernels = {}
    for entry, grid, block, args in job.steps:
        kernel = kernels.setdefault(entry, cl.Kernel(program, entry))
        kernel.set_args(*(memory[name] if name in memory else job.scalars[name] for name in args))
        cl.enqueue_nd_range_kernel(queue, kernel, tuple(g * b for g, b in zip(grid, block, strict=True)), block)
    queue.finish()
    for name, buffer in memory.items():
        cl.enqueue_copy(queue, job.buffers[name], buffer)
    queue.finish()
    return dict(job.buffers)


class TooLong(AssertionError):
    """No answer in time: a compilation of minutes, most likely, which the evaluator cuts off."""


class OpenClRunner:
    """Executes variants; a crash of the child is an assertion error of the variant that caused it."""

    too_long = TooLong

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(
        self, spec: KernelSpec, variant: Variant, sizes: Mapping[str, int], inputs: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Every array argument after the run, outputs poisoned before; asserts that canaries and inputs survive."""
        assert variant.target is Target.OPENCL
        buffers: dict[str, np.ndarray] = {}
        scalars: dict[str, np.generic] = {}
        for arg in spec.args:
            dtype = np.dtype(arg.dtype)
            if arg.is_scalar:
                value = arg.value if isinstance(arg.value, float) else arg.value.evaluate(sizes)  # type: ignore
                scalars[arg.name] = dtype.type(value)
                continue
            count = int(np.prod(arg.extent(sizes)))
            body = inputs[arg.name].astype(dtype).ravel() if arg.name in inputs else np.empty(0, dtype)
            raw = np.full((count + CANARY) * dtype.itemsize, POISON, np.uint8).view(dtype)
            raw[: body.size] = body
            buffers[arg.name] = raw
        for item in variant.scratch:
            raw = np.full(item.elements.evaluate(sizes) * np.dtype(item.dtype).itemsize, POISON, np.uint8)
            buffers[item.name] = raw.view(item.dtype)
        steps: list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[str, ...]]] = []
        for step in variant.steps:
            if isinstance(step, Memset):
                assert not steps, "the runner clears buffers in front of the first launch only"
                buffers[step.buffer].view(np.uint8)[:] = step.value
                continue
            assert isinstance(step, Launch)
            steps.append((step.entry, tuple(axis.blocks(sizes) for axis in step.grid), step.block, step.args))
        before = {name: array.copy() for name, array in buffers.items()}
        after = self._execute(Job(variant.source, variant.options, tuple(steps), buffers, scalars), variant)
        results = {}
        for arg in spec.args:
            if arg.is_scalar:
                continue
            count = int(np.prod(arg.extent(sizes)))
            array = after[arg.name]
            tail = array[count:].view(np.uint8)
            assert (tail == POISON).all(), f"{variant.genome}: wrote behind the end of {arg.name} at {dict(sizes)}"
            if arg.role == "in":
                same = array.view(np.uint8) == before[arg.name].view(np.uint8)
                assert same.all(), f"{variant.genome}: modified its input {arg.name}"
            results[arg.name] = array[:count].reshape(arg.extent(sizes))
        return results

    def _execute(self, job: Job, variant: Variant) -> dict[str, np.ndarray]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        try:
            return self._pool.submit(_run, job).result(timeout=DEADLINE_S)
        except TimeoutError as error:
            self.close()
            raise TooLong(f"{variant.genome} took more than {DEADLINE_S} s\n{variant.source}") from error
        except Exception as error:
            self.close()
            raise AssertionError(f"{variant.genome} died: {error}\n{variant.source}") from error

    def close(self) -> None:
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@pytest.fixture(scope="session")
def opencl_run() -> Iterator[OpenClRunner]:
    """Runs variants on the CPU's OpenCL device."""
    runner = OpenClRunner()
    yield runner
    runner.close()

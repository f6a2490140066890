"""Runs a kernel of the loop IR thread by thread and writes down what it does: the truth that analyses are held to.

Threads of a block run in a random order from barrier to barrier; blocks run one after the other, in a random order as
well. Every access of an array is recorded with who makes it, where and when, and every condition with its outcome.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from genome.ir.kernel import Kernel
from genome.ir.stmt import flatten
from tests.interpret.c_values import convert, type_of
from tests.interpret.code import Code
from tests.interpret.trace import Launch, Memory, Point, Pointer, Thread, Trace


def run(kernel: Kernel, launch: Launch) -> Trace:
    """Runs a kernel as it was written (its axes open), or a sealed one.

    Raises:
        OutOfBounds, Undefined, Unsupported: If the kernel goes astray, or is beyond the interpreter.
    """
    rng = random.Random(launch.seed)
    trace = Trace(tuple(flatten(kernel.prologue + kernel.body)))
    code = Code(kernel, launch)
    globals_: dict[str, Memory | Pointer] = {}
    for param in kernel.params:
        if param.pointer and param.name in launch.arrays:
            globals_[param.name] = Memory(param.name, type_of(param.ctype), launch.arrays[param.name].ravel().tolist())
    for name, other, offset in launch.overlap:
        below = globals_[other]
        assert isinstance(below, Memory)
        globals_[name] = Pointer(below, offset)
    blocks = _points(launch.grid)
    rng.shuffle(blocks)
    for block in blocks:
        _run_block(kernel, code, launch, trace, block, globals_, rng)
    trace.arrays = {name: np.array(memory.data, memory.kind) for name, memory in globals_.items()
                    if isinstance(memory, Memory)}  # fmt: skip
    return trace


def _points(extent: Sequence[int]) -> list[Point]:
    x, y, z = (*extent, 1, 1)[:3]
    return [(i, j, k) for k, j, i in product(range(z), range(y), range(x))]


def _run_block(kernel: Kernel, code: Code, launch: Launch, trace: Trace, block: Point,
               globals_: Mapping[str, Memory | Pointer], rng: random.Random) -> None:  # fmt: skip
    names: dict[str, Memory | Pointer] = dict(globals_)
    for decl in code.shared:
        kind = type_of(decl.ctype)
        count = prod(decl.dims) if decl.dims else launch.dynamic
        names[decl.name] = Memory(f"{decl.name}@{block}", kind, [convert(0, kind)] * count)
    running: list[tuple[Thread, Generator[int, None, None]]] = []
    for point in _points(launch.block):
        thread = Thread(trace, block, point, code.environment(block, point), names, rng)
        running.append((thread, code.thread(thread)))
    while running:
        rng.shuffle(running)
        arrived: list[tuple[Thread, Generator[int, None, None], int]] = []
        ended = 0
        for thread, steps in running:
            site = next(steps, None)
            if site is None:
                ended += 1
            else:
                arrived.append((thread, steps, site))
        if arrived and (ended or len({site for _, _, site in arrived}) > 1):
            trace.diverged = True
        running = [(thread, steps) for thread, steps, _ in arrived]
        for thread, _ in running:
            thread.phase += 1

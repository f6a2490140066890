"""Static check that a barrier stands only where all threads of a block come by.

A barrier under a condition that differs between threads is undefined on a GPU; a CPU device lets the first thread
decide for the whole block, so that a wrong kernel may pass there.
"""

from __future__ import annotations

from genome.analysis.facts import Uniformity
from genome.analysis.uniformity import agrees, levels_of
from genome.ir.kernel import Kernel
from genome.ir.stmt import Barrier, flatten


def divergent_barrier(kernel: Kernel) -> str | None:
    """A condition (or loop bound) that differs between threads and has a barrier inside; None if there is none.

    Opaque text is not looked into: what stands in it is the user's own.
    """
    statements = tuple(flatten(kernel.prologue + kernel.whole))
    barriers = [position for position, stmt in enumerate(statements) if isinstance(stmt, Barrier)]
    if not barriers:
        return None
    levels = levels_of(kernel)
    if all(agrees(levels.control_at(position), Uniformity.BLOCK) for position in barriers):
        return None
    return "a condition that differs between the threads of a block"

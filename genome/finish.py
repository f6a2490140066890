"""What runs behind a kernel whose results a second launch completes: its form, its launch and its buffer."""

from __future__ import annotations

from dataclasses import replace

from genome.ir.index_form import settle_indices
from genome.ir.kernel import Finish, Kernel
from genome.sizes import SizeExpr
from genome.spec import dtype_of
from genome.variant import GridAxis, Launch, Memset, Scratch, Step

_ONE = GridAxis(SizeExpr("1"))


def settled(kernel: Kernel, last: Kernel | None) -> Kernel:
    """The sealed kernel in printing form, and ``last``, what runs behind it, as well."""
    kernel = settle_indices(kernel)
    if kernel.finish is None or last is None:
        return kernel
    return replace(kernel, finish=replace(kernel.finish, kernel=settle_indices(last)))


def steps(finish: Finish | None, first: Launch, second: Launch | None) -> tuple[Step, ...]:
    """What a call runs: the first launch, what clears its buffer, and the second launch as the finish wants it."""
    if finish is None or second is None:
        return (first,)
    if not finish.threads:
        return first, second
    one_block = replace(second, grid=(_ONE, _ONE, _ONE), block=(finish.threads, 1, 1))
    return Memset(finish.buffer), first, one_block


def scratch(finish: Finish | None) -> tuple[Scratch, ...]:
    """The buffer between the launches."""
    if finish is None:
        return ()
    dtype = dtype_of(finish.ctype)
    assert dtype is not None
    return (Scratch(finish.buffer, dtype, finish.elements),)

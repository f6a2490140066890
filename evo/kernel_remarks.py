"""What is wrong with a kernel as it was written, as far as its source shows: races, and outputs left unwritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evaluator.api import EvaluatorError
from genome.analysis.access import Access, MemorySpace
from genome.analysis.collect import collect
from genome.analysis.dependences import thread_dependences
from genome.analysis.effects import holds_barrier
from genome.analysis.facts import Hazard
from genome.analysis.proof import Standing
from genome.analysis.scope import make_scope
from genome.analysis.shared_races import shared_races
from genome.analysis.uniformity import Levels
from genome.analysis.uses import Use, uses
from genome.replay import spec_kernel
from genome.source.errors import SourceError
from genome.source.frontend import parse_kernel
from genome.spec import KernelSpec, Role


def kernel_remarks(spec: KernelSpec) -> tuple[str, ...]:
    """Remarks on the kernel itself: what of it was not understood, or else is wrong with it."""
    levels = _levels(spec)
    if levels is None:
        return _unread(spec)
    kernel, accesses = levels.scope.kernel, collect(levels)
    never = {use.array for use in uses(kernel, accesses) if use.written is Use.NEVER}
    outputs = [arg.name for arg in spec.args if arg.role is not Role.IN and arg.name in never]
    races = [f"the kernel has a race on {race.array} (lines {race.first_line} and {race.second_line}): "
             f"{race.proof.reason}" for race in shared_races(levels, accesses)
             if race.proof.standing is Standing.PROVEN]  # fmt: skip
    races += _global_races(levels, accesses)
    return (*races[:1], *(f"output {name} is never written by the kernel" for name in outputs))


def _global_races(levels: Levels, accesses: Sequence[Access]) -> list[str]:
    """Elements of global memory that one thread surely reads and another one writes, in a kernel without a barrier."""
    if holds_barrier(levels.scope.kernel.prologue + levels.scope.kernel.whole):
        return []
    arrays = {access.array for access in accesses if access.space is MemorySpace.GLOBAL}
    return [
        f"the kernel has a race on {found.name} (lines {found.source_line} and {found.sink_line}): {found.proof.reason}"
        for found in thread_dependences(levels.scope, accesses)
        if found.proof.holds and found.name in arrays and found.hazard is not Hazard.OUTPUT
    ]


def _unread(spec: KernelSpec) -> tuple[str, ...]:
    """Why the body stays text, in the front end's words."""
    if not spec.source:
        return ()
    tunables = tuple((macro.name, macro.values[0]) for macro in spec.tunables)
    try:
        parse_kernel(
            spec.source, spec.entry, path=spec.path, template_args=spec.template_args,
            defines=(*spec.defines, *tunables), include_dirs=spec.include_dirs,
        )  # fmt: skip
    except SourceError as error:
        return (str(error),)
    return ()


def _levels(spec: KernelSpec) -> Levels | None:
    if not spec.source:
        return None
    try:
        kernel = spec_kernel(spec)
    except SourceError:
        return None
    return None if kernel.verbatim else Levels(make_scope(kernel, spec.launch.block))


@contextmanager
def explained(spec: KernelSpec) -> Iterator[None]:
    """Puts the remarks behind the reason for which the device refuses the untransformed kernel.

    Raises:
        EvaluatorError: The one raised inside, with what may be its cause.
    """
    try:
        yield
    except EvaluatorError as error:
        remarks = kernel_remarks(spec)
        if not remarks:
            raise
        raise EvaluatorError("; ".join((str(error), *remarks))) from error

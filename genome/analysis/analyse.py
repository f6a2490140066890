"""The one entry to the analyses: a kernel and what the campaign grants, to facts with their proofs and doubts."""

from __future__ import annotations

from genome.analysis.aliasing import aliases
from genome.analysis.branches import barriers, branches
from genome.analysis.collect import collect
from genome.analysis.dependences import dependences
from genome.analysis.facts import KernelFacts, OpaqueFact
from genome.analysis.idioms import idioms
from genome.analysis.loop_facts import loop_facts
from genome.analysis.reuse import reuse
from genome.analysis.scope import Block, make_scope
from genome.analysis.shared_races import shared_races
from genome.analysis.uniformity import Levels
from genome.analysis.uses import uses
from genome.analysis.work import work_of
from genome.ir.kernel import Kernel
from genome.ir.stmt import Opaque, flatten
from genome.spec import Assumptions

_NOTHING = Assumptions()


def analyse(kernel: Kernel, assumptions: Assumptions = _NOTHING, block: Block | None = None) -> KernelFacts:
    """What is known about a kernel as the front end gives it.

    Args:
        kernel: Its axes open (``genome.replay.spec_kernel``), or without axes where its geometry is fixed.
        assumptions: What the campaign grants; facts that rest on it say so.
        block: Threads of a block along x, y, z, where the launch is known.
    """
    scope = make_scope(kernel, block)
    levels = Levels(scope)
    accesses = collect(levels)
    return KernelFacts(
        entry=kernel.name,
        accesses=accesses,
        loops=loop_facts(scope, assumptions.no_alias),
        branches=branches(levels, assumptions.no_alias),
        barriers=barriers(levels, assumptions.no_alias),
        dependences=dependences(scope, accesses),
        aliases=aliases(kernel, accesses, assumptions.no_alias),
        races=shared_races(levels, accesses),
        reuse=reuse(scope, accesses),
        idioms=idioms(scope, accesses),
        work=work_of(scope),
        opaque=_opaque(kernel),
        uses=uses(kernel, accesses),
    )


def _opaque(kernel: Kernel) -> tuple[OpaqueFact, ...]:
    if kernel.verbatim and not kernel.body:
        return (OpaqueFact(0, kernel.verbatim, (), (), True),)
    found = (stmt for stmt in flatten(kernel.prologue + kernel.whole) if isinstance(stmt, Opaque))
    return tuple(OpaqueFact(stmt.line, stmt.text, stmt.reads, stmt.writes, stmt.barrier) for stmt in found)

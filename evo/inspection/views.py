"""The facts of a kernel as records of text and numbers: axes, loops, branches, barriers, dependences, work, regions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evo.inspection.facts import (
    AliasView,
    AxisView,
    BarrierView,
    BranchView,
    DependenceView,
    IdiomView,
    LoopView,
    OpaqueView,
    RaceView,
    WorkAt,
    WorkView,
)
from evo.inspection.memory import scalars
from evo.inspection.record import Offer
from evo.inspection.words import expression, why_opaque
from genome.analysis.count import Count
from genome.analysis.facts import KernelFacts, Work
from genome.genes import Site
from genome.ir.expr import Call, walk
from genome.ir.kernel import Axis, Kernel
from genome.ir.print_functions import ATOMICS, BARRIERS, PURE
from genome.ir.stmt import expressions, flatten
from genome.moves import line_of
from genome.spec import KernelSpec
from genome.transforms.sites import loop_sites

_CALLS = "it calls {}, a function of the file"


def axis_views(kernel: Kernel, spec: KernelSpec) -> tuple[AxisView, ...]:
    """The parallel axes, x first."""
    return tuple(_axis(axis, kernel, spec) for axis in sorted(kernel.axes, key=lambda axis: axis.dim))


def _axis(axis: Axis, kernel: Kernel, spec: KernelSpec) -> AxisView:
    place, dim = "xyz".index(axis.dim), axis.dim
    domain = spec.launch.domain
    return AxisView(
        name=axis.name,
        dimension=dim,
        line=line_of(spec, kernel, Site(axis.name)),
        lower=expression(axis.lower) if axis.lower is not None else "",
        upper=expression(axis.upper) if axis.upper is not None else "",
        extent=str(domain[place]) if place < len(domain) else "1",
        threads=axis.threads,
        index=f"blockIdx.{dim} * {axis.threads} + threadIdx.{dim}",
    )


def loop_views(kernel: Kernel, spec: KernelSpec, facts: KernelFacts, offers: Sequence[Offer]) -> tuple[LoopView, ...]:
    """The loops in program order, with what is offered for each."""
    roles = {site.label: site.role for site in loop_sites(kernel)}
    made = []
    for loop in facts.loops:
        at = {size.label: loop.trips.at(scalars(spec, size)) for size in spec.sizes}
        made.append(LoopView(
            site=loop.variable,
            role=roles.get(loop.variable, loop.role.value),
            line=loop.line,
            trips=_trips(loop.trips),
            trips_at={label: int(count) for label, count in at.items() if count is not None},
            reductions=loop.reductions,
            independent=loop.independent,
            offers=tuple(o.transform for o in offers if any(site.label == loop.variable for site in o.sites)),
        ))  # fmt: skip
    return tuple(made)


def _trips(count: Count) -> str:
    """A number where it is one, else C text; empty where nothing tells."""
    number = count.at({})
    if number is not None:
        return str(int(number))
    return "" if any(isinstance(atom, Call) for atom in count.numerator.atoms) else expression(count)


def branch_views(facts: KernelFacts) -> tuple[BranchView, ...]:
    """Conditions, and who agrees on them."""
    return tuple(
        BranchView(b.line, b.kind.value, expression(b.condition), b.uniformity.value, b.proof) for b in facts.branches
    )


def barrier_views(facts: KernelFacts) -> tuple[BarrierView, ...]:
    """Barriers of the block."""
    return tuple(BarrierView(barrier.line, barrier.reached) for barrier in facts.barriers)


def race_views(facts: KernelFacts) -> tuple[RaceView, ...]:
    """Accesses to shared arrays with no barrier between."""
    return tuple(RaceView(r.array, (r.first_line, r.second_line), r.hazard.value, r.proof) for r in facts.races)


def dependence_views(facts: KernelFacts) -> tuple[DependenceView, ...]:
    """Orders between accesses that a rewrite must keep."""
    return tuple(
        DependenceView(d.name, (d.source_line, d.sink_line), d.hazard.value, d.loop or "", d.distance, d.proof)
        for d in facts.dependences
    )


def alias_views(facts: KernelFacts) -> tuple[AliasView, ...]:
    """Pairs of arrays of which one is written."""
    return tuple(AliasView(alias.arrays, alias.distinct) for alias in facts.aliases)


def idiom_views(facts: KernelFacts) -> tuple[IdiomView, ...]:
    """Recognised shapes."""
    return tuple(IdiomView(idiom.name.value, idiom.lines, idiom.arrays, idiom.proof) for idiom in facts.idioms)


def work_view(work: Work, spec: KernelSpec) -> WorkView:
    """Bytes and operations of a thread, as expressions and at each size where they are numbers."""
    moved = work.bytes_read + work.bytes_written
    at = []
    for size in spec.sizes:
        values = scalars(spec, size)
        size_bytes, flops = moved.at(values), work.flops.at(values)
        if size_bytes is not None and flops is not None:
            ratio = float(flops / size_bytes) if size_bytes else 0.0
            at.append(WorkAt(size.label, float(size_bytes), float(flops), ratio))
    read, written, operations = map(expression, (work.bytes_read, work.bytes_written, work.flops))
    return WorkView(read, written, operations, tuple(at), work.proof, work.unseen)


def opaque_views(kernel: Kernel, facts: KernelFacts) -> tuple[OpaqueView, ...]:
    """What the engine does not look into: regions of text, and calls whose effects it does not know."""
    regions = []
    for region in facts.opaque:
        why = why_opaque(region.text.strip())
        calls = "" if why else _own_function(region.text, kernel)
        why = why or (_CALLS.format(calls) if calls else "C++ outside of what is read")
        regions.append(OpaqueView(region.line, region.text, region.reads, region.writes, region.barrier, why, calls))
    return tuple(sorted((*regions, *_unknown_calls(kernel)), key=lambda view: view.line))


def _unknown_calls(kernel: Kernel) -> Iterator[OpaqueView]:
    seen: set[tuple[int, str]] = set()
    for stmt in flatten(kernel.body):
        for expr in expressions(stmt):
            for node in walk(expr):
                if not isinstance(node, Call) or node.function in PURE | ATOMICS.keys() | BARRIERS:
                    continue
                if (stmt.line, node.function) not in seen:
                    seen.add((stmt.line, node.function))
                    calls = _own_function(f"{node.function}(", kernel)
                    why = _CALLS.format(calls) if calls else why_opaque(f"{node.function}(")
                    why = why or f"nothing is known of {node.function}"
                    yield OpaqueView(stmt.line, expression(node), (), (), False, why, calls)


def _own_function(text: str, kernel: Kernel) -> str:
    """The first function of the file that a text calls; empty if none."""
    names = re.findall(r"\b(\w+)\s*\(", text)
    return next((name for name in names if re.search(rf"\b{name}\s*\(", kernel.prelude)), "")

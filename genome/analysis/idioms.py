"""Shapes of computation: what a kernel's results are made of, whatever its names, loop order and layout are.

Every rule looks at index forms and at the flow of values from elements to results; none looks at a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from genome.analysis.access import Access, AccessMode, MemorySpace
from genome.analysis.accumulations import accumulated, updated
from genome.analysis.facts import Idiom, IdiomName
from genome.analysis.flow import Flow
from genome.analysis.injective import injective
from genome.analysis.proof import Proof, Standing, doubted, proven
from genome.analysis.scans import recurrence
from genome.analysis.scope import Scope
from genome.analysis.sliding import taps
from genome.ir.expr import Index
from genome.ir.stmt import Assign, Opaque, flatten


def idioms(scope: Scope, accesses: tuple[Access, ...]) -> tuple[Idiom, ...]:
    """The idioms of a kernel by line, one for each name and result."""
    flow = Flow(scope, accesses)
    found: dict[tuple[IdiomName, tuple[str, ...]], Idiom] = {}
    for idiom in _all(flow):
        key = idiom.name, idiom.arrays[:1]
        found[key] = _joined(found[key], idiom) if key in found else idiom
    unseen = next((stmt for stmt in flatten(scope.kernel.whole) if isinstance(stmt, Opaque)), None)
    ordered = sorted(found.values(), key=lambda idiom: (idiom.lines, idiom.name))
    return tuple(ordered) if unseen is None else tuple(_doubt(idiom, unseen) for idiom in ordered)


def _all(flow: Flow) -> Iterator[Idiom]:
    for accumulator in flow.accumulators:
        yield from accumulated(accumulator, flow)
    combined = {accumulator.statement for accumulator in flow.accumulators}
    for access in flow.accesses:
        if access.space is not MemorySpace.GLOBAL:
            continue
        if access.mode is AccessMode.ATOMIC:
            yield from updated(access, flow)
        elif access.mode is AccessMode.WRITE and access.statement not in combined:
            yield from _stored(access, flow)


def _joined(one: Idiom, other: Idiom) -> Idiom:
    proof = other.proof if one.proof.standing is not Standing.DOUBTED else one.proof
    lines = tuple(sorted({*one.lines, *other.lines}))
    return replace(one, lines=lines, arrays=tuple(dict.fromkeys(one.arrays + other.arrays)), proof=proof)


def _doubt(idiom: Idiom, unseen: Opaque) -> Idiom:
    if not idiom.proof.holds:
        return idiom
    return replace(idiom, proof=doubted(f"text on line {unseen.line} is not looked into", unseen.line))


def _stored(access: Access, flow: Flow) -> Iterator[Idiom]:
    """What a plain store is: an element of a map, a permutation, a stencil or a scan; nothing for other results."""
    stmt = flow.statements[access.statement]
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, Index):
        return
    scan = recurrence(access, stmt, flow)
    if scan is not None:
        yield scan
        return
    moved = flow.moved(stmt.value, access.statement) if stmt.op == "=" else None
    if moved is not None and moved.form != access.form and moved.space is not MemorySpace.PRIVATE:
        yield from _permuted(access, moved, flow)
        return
    if access.form is None or not set(access.loops) <= {term.variable for term in access.form.terms}:
        return
    sources = flow.of(stmt.value, access.statement)
    reads = [flow.accesses[position] for position in sorted(sources.reads)]
    reads = [read for read in reads if read.space is not MemorySpace.PRIVATE]
    if sources.accumulators and not access.loops:
        return  # the result of a reduction, which speaks for itself
    group = taps(reads, flow.scope)
    if group:
        yield _stencil(access, group, reads)
    elif not reads and sum(other.array == access.array and other.mode is not AccessMode.READ
                           for other in flow.accesses) > 1:  # fmt: skip
        return  # what a sum in memory starts from, or one of several cases
    else:
        yield from _mapped(access, reads, flow.scope, stmt.op != "=")


def _stencil(access: Access, group: tuple[Access, ...], reads: list[Access]) -> Idiom:
    clamped = next((tap for tap in group if tap.form is None), None)
    proof = proven(f"{len(group)} reads of {group[0].array} lie fixed steps of threads apart", access.line)
    if clamped is not None:
        proof = doubted(f"indices of {clamped.array} are held inside the array at its border", clamped.line)
    lines = tuple(sorted({access.line, *(tap.line for tap in group)}))
    return Idiom(IdiomName.STENCIL, lines, _arrays(access.array, [*group, *reads]), proof)


def _mapped(access: Access, reads: list[Access], scope: Scope, updates: bool) -> Iterator[Idiom]:
    """Each result comes from elements at its own place, its old self (``updates``), and elements that several share."""
    assert access.form is not None
    own = {term.variable for term in access.form.terms}
    proof = injective(access.form, scope)
    proof = replace(proof, line=access.line)
    placed = updates or not reads
    for read in reads:
        if read.form is None:
            proof = doubted(f"{read.array}: {read.proof.reason}", read.line)
            continue
        if read.form.terms == access.form.terms:
            placed = True
        elif not {term.variable for term in read.form.terms} < own:
            return
    if placed and own:
        lines = tuple(sorted({access.line, *(read.line for read in reads)}))
        yield Idiom(IdiomName.MAP, lines, _arrays(access.array, reads), proof)


def _permuted(access: Access, moved: Access, flow: Flow) -> Iterator[Idiom]:
    """Elements move unchanged to other places."""
    lines = tuple(sorted({access.line, moved.line}))
    arrays = _arrays(access.array, [moved])
    if moved.space is MemorySpace.SHARED:
        proof: Proof = doubted(f"elements move through {moved.array}, which is not followed", moved.line)
    elif access.form is None or moved.form is None:
        blind = access if access.form is None else moved
        proof = doubted(
            f"{blind.array}: {blind.proof.reason}, so that elements may be left out or repeated", blind.line
        )
    elif {term.variable for term in access.form.terms} != {term.variable for term in moved.form.terms}:
        if {term.variable for term in moved.form.terms} < {term.variable for term in access.form.terms}:
            yield Idiom(IdiomName.MAP, lines, arrays, replace(injective(access.form, flow.scope), line=access.line))
        return
    else:
        sides = [injective(form, flow.scope) for form in (access.form, moved.form)]
        proof = replace(next((side for side in sides if not side.holds), sides[0]), line=access.line)
    yield Idiom(IdiomName.PERMUTATION, lines, arrays, proof)


def _arrays(result: str, reads: list[Access]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([result, *(read.array for read in reads)]))

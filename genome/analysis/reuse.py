"""Footprints of access groups: elements that a loop, or the threads of a block, touch against accesses they make.

A group are the reads of one array whose indices differ by what is fixed: the taps of a stencil, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from genome.analysis.access import Access, AccessMode, AffineForm, AffineTerm, MemorySpace, VariableKind
from genome.analysis.count import Count, whole
from genome.analysis.facts import Reuse
from genome.analysis.injective import injective
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scope import Scope
from genome.analysis.trips import UNCOUNTED, trips_of
from genome.ir.poly import Monomial, Poly

_LARGEST = 20_000  # accesses of one block that are counted one by one
Vector = tuple[int, ...]


def reuse(scope: Scope, accesses: tuple[Access, ...]) -> tuple[Reuse, ...]:
    """Footprints of the reads of global memory: over each loop around them, and over the threads of one block while
    loops of constant trips run and all others stand. Every thread is taken to lie inside all guards.
    """
    found: list[Reuse] = []
    for group in _groups(accesses):
        if group[0].uncounted:
            found += [_uncounted(group, over) for over in (*group[0].loops, "block")]
            continue
        found += [_over_loop(group, loop, scope) for loop in group[0].loops]
        found.append(_over_block(group, scope))
    return tuple(found)


def _groups(accesses: Iterable[Access]) -> Iterator[tuple[Access, ...]]:
    groups: dict[object, list[Access]] = {}
    for access in accesses:
        if access.space is MemorySpace.GLOBAL and access.mode is AccessMode.READ and access.form is not None:
            groups.setdefault((access.array, access.loops, access.uncounted, access.form.terms), []).append(access)
    return (tuple(group) for group in groups.values())


def _places(group: Sequence[Access]) -> list[Poly]:
    """Different fixed parts of the group's indices."""
    return list(dict.fromkeys(Poly(access.form.constant.terms) for access in group if access.form is not None))


def _apart(places: Sequence[Poly]) -> bool:
    """True if the places differ at all sizes."""
    return all((place - places[0]).constant is not None for place in places)


def _made(group: Sequence[Access], over: str, accesses: Count, elements: Count | None, proof: Proof) -> Reuse:
    lines = tuple(sorted({access.line for access in group}))
    return Reuse(group[0].array, lines, over, accesses, elements, proof)


def _uncounted(group: Sequence[Access], over: str) -> Reuse:
    return _made(group, over, Count(), None, doubted(UNCOUNTED, group[0].line))


def _over_loop(group: Sequence[Access], name: str, scope: Scope) -> Reuse:
    """Elements that one thread touches while the loop runs and everything around it stands."""
    form, places, line = group[0].form, _places(group), group[0].line
    assert form is not None
    loop = scope.loops[name]
    trips = trips_of(loop, scope)
    accesses = whole(len(group)) * trips.count
    if trips.doubt:
        return _made(group, name, accesses, None, doubted(trips.doubt, line))
    step = form.coefficient(name).scaled(loop.step)
    if not step.terms:
        reason = f"the index does not depend on {name}"
        proof = proven(reason, line) if _apart(places) else doubted(f"{reason}; its places may coincide", line)
        return _made(group, name, accesses, whole(len(places)), proof)
    if len(places) == 1:
        limit = "" if step.constant is not None else ", where its stride is not zero"
        reason = f"each iteration has an element of its own{limit}"
        return _made(group, name, accesses, trips.count, proven(reason, line))
    shifts = [_multiple(Poly((place - places[0]).terms), step) for place in places]
    steps = sorted(shift for shift in shifts if shift is not None)
    if len(steps) < len(shifts):
        return _made(group, name, accesses, None, doubted("the accesses are not whole iterations apart", line))
    if steps[-1] - steps[0] != len(steps) - 1:
        return _made(group, name, accesses, None, doubted("there are gaps between the accesses", line))
    reason = f"each iteration meets elements of the {len(steps) - 1} before it"
    return _made(group, name, accesses, trips.count + whole(len(steps) - 1), proven(reason, line))


def _multiple(difference: Poly, step: Poly) -> int | None:
    """The integer by which the step must be multiplied to give the difference, or None."""
    monomial, value = step.terms[-1]
    factor = dict(difference.terms).get(monomial, 0) // value
    return factor if Poly(step.scaled(factor).terms) == difference else None


def _over_block(group: Sequence[Access], scope: Scope) -> Reuse:
    """Elements that the threads of a block touch together."""
    form, places, line = group[0].form, _places(group), group[0].line
    assert form is not None
    if scope.block is None:
        return _made(group, "block", Count(), None, doubted("the block is not known", line))
    running = {name: trip for name in group[0].loops if (trip := scope.loops[name].trip) is not None}
    accesses = whole(len(group) * prod(scope.block) * prod(running.values()))
    terms = [(_by_step(term, scope), _extent(term, running, scope)) for term in form.terms]
    inside = [(term, extent) for term, extent in terms if extent > 1]
    if len(places) * prod(extent for _, extent in inside) > _LARGEST:
        return _made(group, "block", accesses, None, doubted("the block is too large to be counted", line))
    elements = whole(_distinct(inside, places))
    return _made(group, "block", accesses, elements, _block_proof(inside, places, scope, line))


def _block_proof(inside: Sequence[tuple[AffineTerm, int]], places: Sequence[Poly], scope: Scope, line: int) -> Proof:
    numbers = all(term.coefficient.constant is not None for term, _ in inside)
    if numbers and _apart(places):
        return proven("all strides are numbers", line)
    if len(places) == 1 and (
        len(inside) < 2 or injective(AffineForm(Poly(), tuple(t for t, _ in inside)), scope).holds
    ):
        return proven("rows do not overlap", line)
    return doubted("counted as if rows did not overlap", line)


def _by_step(term: AffineTerm, scope: Scope) -> AffineTerm:
    """The term of a loop in terms of its iterations."""
    step = scope.loops[term.variable].step if term.kind is VariableKind.LOOP else 1
    return replace(term, coefficient=term.coefficient.scaled(step))


def _extent(term: AffineTerm, running: Mapping[str, int], scope: Scope) -> int:
    """Values that the variable takes while a block runs."""
    if scope.block is None or term.kind is VariableKind.BLOCK:
        return 1
    if term.kind is VariableKind.LOOP:
        return running.get(term.variable, 1)
    axis = scope.kernel.axis(term.variable)
    dim = axis.dim if axis is not None else term.variable[-1]
    return scope.block["xyz".index(dim)] if dim in "xyz" else 1


def _distinct(inside: Sequence[tuple[AffineTerm, int]], places: Sequence[Poly]) -> int:
    """Different indices, symbolic strides taken as independent of each other."""
    monomials = list(dict.fromkeys(m for p in (*(t.coefficient for t, _ in inside), *places) for m, _ in p.terms))
    corners = [_vector(place, monomials) for place in places]
    steps = [
        [_scaled(_vector(term.coefficient, monomials), value) for value in range(extent)] for term, extent in inside
    ]
    return len({_sum(parts) for parts in product(corners, *steps)})


def _vector(polynomial: Poly, monomials: Sequence[Monomial]) -> Vector:
    known = dict(polynomial.terms)
    return tuple(known.get(monomial, 0) for monomial in monomials)


def _scaled(vector: Vector, factor: int) -> Vector:
    return tuple(part * factor for part in vector)


def _sum(vectors: Sequence[Vector]) -> Vector:
    return tuple(map(sum, zip(*vectors, strict=True)))

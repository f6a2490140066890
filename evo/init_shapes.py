"""Shapes and launch as a kernel's subscripts and guards suggest them: guesses for ``evo-tune init``, never proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evo.init_positions import Positions, whole
from genome.analysis.footprint import UNIT, primitive
from genome.ir.expr import Call, Expr, Var, accesses, walk
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.stmt import Opaque, flatten


@dataclass(frozen=True)
class Shape:
    """Extents of an array, slowest first, and a remark where they are more than usually a guess."""

    extents: tuple[str, ...]
    note: str = ""


def size_text(expr: Expr | Poly, sizes: Sequence[str]) -> str | None:
    """The expression in the campaign's words, or None where it is more than sums and products of sizes."""
    terms = (expr if isinstance(expr, Poly) else poly(expr)).terms
    parts: list[tuple[str, int]] = []
    for monomial, value in sorted(terms, key=lambda term: -len(term[0])):
        if not all(isinstance(atom, Var) and atom.name in sizes for atom in monomial):
            return None
        factors = [atom.name for atom in monomial if isinstance(atom, Var)]
        shown = [str(abs(value))] if abs(value) != 1 or not factors else []
        parts.append(("*".join(shown + factors), value))
    text = ""
    for part, value in parts:
        sign = "-" if value < 0 else "+"
        text += f" {sign} {part}" if text else f"-{part}" if value < 0 else part
    return text or "0"


def shapes(kernel: Kernel, where: Positions, sizes: Sequence[str]) -> dict[str, Shape]:
    """The shape of each array parameter whose subscripts tell one."""
    pointers = {param.name for param in kernel.params if param.pointer}
    subscripts: dict[str, list[Poly]] = {}
    for expr in whole(kernel):
        for access in accesses(expr):
            if access.array in pointers and len(access.subscripts) == 1:
                subscripts.setdefault(access.array, []).append(_named(poly(access.subscripts[0]), where))
        for array in _bare(expr) & pointers:
            subscripts.setdefault(array, []).append(Poly())
    hidden = {name for stmt in flatten(kernel.body) if isinstance(stmt, Opaque) for name in (*stmt.reads, *stmt.writes)}
    found: dict[str, Shape] = {}
    for array, ones in subscripts.items():
        shape = _shape(ones, where, sizes)
        if shape is not None and array not in hidden:
            found[array] = shape
    return found


def _named(subscript: Poly, where: Positions) -> Poly:
    """The subscript with bounded positions by their names, wherever they or their thread index are terms of it."""
    for expr, name in where.names:
        meaning = poly(expr)
        for atom in meaning.atoms:
            own = meaning.coefficient(atom.name) if isinstance(atom, Var) else None
            used = subscript.coefficient(atom.name) if isinstance(atom, Var) else None
            if own is None or used is None or own[0] != UNIT or not used[0].terms:
                continue
            rest = subscript - used[0] * meaning
            if _is_thread(atom) or not _share(rest, meaning, used[0]):
                subscript = rest + used[0] * variable(name.name)
                break
    return subscript


def _is_thread(atom: Expr) -> bool:
    return isinstance(atom, Var) and atom.name.startswith("threadIdx.")


def _share(rest: Poly, meaning: Poly, stride: Poly) -> bool:
    """True if something of a position is left beside it, or steps along its stride."""
    left = {atom.name for atom in rest.atoms if isinstance(atom, Var)}
    own = {atom.name for atom in meaning.atoms if isinstance(atom, Var)}
    return bool(left & own) or any(monomial == stride.terms[0][0] for monomial, _ in rest.terms)


def _bare(expr: Expr) -> set[str]:
    """Arrays whose first element is meant by their name alone: ``atomicAdd(out, v)``."""
    atomics = [node for node in walk(expr) if isinstance(node, Call) and node.function.startswith("atomic")]
    return {argument.name for node in atomics for argument in node.args if isinstance(argument, Var)}


def _shape(subscripts: Sequence[Poly], where: Positions, sizes: Sequence[str]) -> Shape | None:
    """The largest box among the subscripts."""
    best: tuple[int, tuple[Poly, ...]] | None = None
    for subscript in subscripts:
        if (block := _a_block(subscript)) is not None:
            upper = where.extents.get(block)
            alone = sizes[0] if len(sizes) == 1 and where.dims == 1 and block in where.stretches else None
            text = size_text(upper, sizes) if upper is not None else alone
            if text is None:
                return None
            by = where.threads.get(block, 256 if where.dims == 1 else 16)
            stretch = where.stretches.get(block)
            by = by if stretch is None else stretch.each * (stretch.threads or by)
            return Shape((f"({text} + {by - 1}) // {by}",), f"an element a block of {by}: change it with the block")
        extents = _extents(subscript, where)
        if extents is None:
            return None
        if best is None or (len(extents), _larger(extents[0], best[1][0])) > (best[0], False):
            best = len(extents), extents
    if best is None:
        return None
    texts = [size_text(_whole_size(best[1][0]), sizes), *(size_text(extent, sizes) for extent in best[1][1:])]
    return None if None in texts else Shape(tuple(text for text in texts if text is not None))


def _a_block(subscript: Poly) -> str | None:
    """The dimension, where the subscript is a block's own number."""
    atoms = subscript.atoms
    if len(subscript.terms) == 1 and len(atoms) == 1 and isinstance(atoms[0], Var):
        name = atoms[0].name
        return name[-1] if name.startswith("blockIdx.") and subscript.terms[0][1] == 1 else None
    return None


def _extents(subscript: Poly, where: Positions) -> tuple[Poly, ...] | None:
    """Extents of the box that a subscript runs through, slowest first; None where it does not tell."""
    rest = subscript
    reach: dict[Poly, dict[int, Poly]] = {}
    for atom in subscript.atoms:
        name = atom.name if isinstance(atom, Var) else ""
        if name not in where.bounds:
            if not isinstance(atom, Var) or "." in name:
                return None  # data, a quotient, a launch index without a bound
            continue
        split = rest.coefficient(name)
        if split is None:
            return None
        factor, rest = split
        if not factor.terms or any(isinstance(other, Var) and other.name in where.bounds for other in factor.atoms):
            return None  # a product of positions
        stride, scale = primitive(factor)
        last = poly(where.bounds[name]) - constant(1)
        if scale < 0:
            scale, last = -scale, Poly()  # runs backwards: its largest value stands in the rest
        own = reach.setdefault(stride, {})
        own[scale] = own.get(scale, Poly()) + last
    strides = sorted(
        ((stride.scaled(scale), last) for stride, own in reach.items() for scale, last in _nested(own).items()),
        key=lambda item: (-max(len(monomial) for monomial, _ in item[0].terms), -item[0].terms[0][1]),
    )
    if not strides:
        return (rest + constant(1),)
    found: list[Poly] = []
    for number, (stride, last) in enumerate(strides):
        steps, rest = _steps(rest, stride)
        if number:
            ratio = _quotient(strides[number - 1][0], stride)
            if ratio is None:
                return None
            found.append(ratio)
        else:
            found.append(last + steps + constant(1))
    if strides[-1][0] != UNIT:
        found.append(strides[-1][0])
    return tuple(found)


def _nested(own: Mapping[int, Poly]) -> dict[int, Poly]:
    """Strides that differ by a number: dimensions of their own where the inner one surely ends before the outer."""
    found: dict[int, Poly] = {}
    for scale in sorted(own):
        inner = max(found, default=scale)
        if scale % inner:
            return {1: sum((last.scaled(by) for by, last in own.items()), Poly())}
        end = found[inner].constant if found else 0
        if end is not None and (not found or end < scale // inner):
            found[scale] = own[scale]
        else:
            found[inner] += own[scale].scaled(scale // inner)
    return found


def _steps(rest: Poly, stride: Poly) -> tuple[Poly, Poly]:
    """(whole steps along a stride, what is left); the rest of a unit stride is all steps."""
    if stride == UNIT:
        return rest, Poly()
    if len(stride.terms) != 1:
        return Poly(), rest
    monomial, by = stride.terms[0]
    whole = dict(rest.terms).get(monomial, 0) // by
    return constant(whole), rest - stride.scaled(whole)


def _quotient(above: Poly, below: Poly) -> Poly | None:
    """``above / below`` where it is one term."""
    if len(above.terms) != 1 or len(below.terms) != 1:
        return above if below == UNIT else None
    (factors, value), (divisor, by) = above.terms[0], below.terms[0]
    left = list(factors)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return Poly(((tuple(left), value // by),)) if value % by == 0 else None


def _larger(first: Poly, second: Poly) -> bool:
    difference = (first - second).constant
    return difference is not None and difference > 0


def _whole_size(extent: Poly) -> Poly:
    """``nz`` for ``nz - 1``: a guard that leaves out a border says nothing of the array's end."""
    positive = [term for term in extent.terms if term[0]]
    border = dict(extent.terms).get((), 0)
    return Poly(tuple(positive)) if positive and border < 0 else extent

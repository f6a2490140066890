"""Boxes of which a corner is met by no access, as the box around a star: they may reach outside of their array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genome.analysis.bounds import never_negative
from genome.analysis.footprint import Box
from genome.analysis.inside import span_inside
from genome.analysis.scope import Scope, make_scope
from genome.conditions import sized
from genome.ir.expr import Binary, Expr, Var, conjuncts
from genome.ir.kernel import Condition, Kernel
from genome.ir.poly import Poly, constant, poly, variable
from genome.spec import KernelSpec


def corners_inside(
    kernel: Kernel, array: str, box: Box, offsets: Sequence[Sequence[int]], spec: KernelSpec
) -> tuple[Condition, ...] | None:
    """Conditions under which a box lies inside of its array in every block that is wholly inside the axes' bounds;
    None if no such are known.

    Every address of a box lies between its lowest and its highest corner: where accesses of the block meet these two,
    there is nothing to ask.

    Args:
        kernel: Its mapping written.
        array: A parameter.
        box: The smallest one around all accesses.
        offsets: Where each access starts in it, by dimension.
        spec: Gives the array's extents and the sizes that are tuned.
    """
    reach = tuple(max(column) for column in zip(*offsets, strict=True))
    if {reach, (0,) * len(reach)} <= {tuple(row) for row in offsets}:
        return ()
    highest = box.base
    for dimension, (stride, most) in enumerate(zip(box.strides, reach, strict=True)):
        highest += stride.scaled(box.size(dimension) - 1 + most)
    main = replace(kernel, tail=None, opening=(), closing=())  # the tail's loops have the same names, other ranges
    scope = make_scope(main)
    first, last = _edge(main, box.base, scope, ">="), _edge(main, highest, scope, "<")
    if first is None or last is None:
        return None
    found = span_inside(array, first[0], last[0], scope, spec)
    needed = (*first[1], *last[1])
    return None if found is None or not all(sized(spec, each) for each in needed) else (*found, *needed)


def _edge(kernel: Kernel, address: Poly, scope: Scope, side: str) -> tuple[Poly, tuple[Condition, ...]] | None:
    """The address in the first (``>=``) or last (``<``) block inside the bounds, and when no other has a lower or a
    higher one; None if that is not known.
    """
    needed: list[Condition] = []
    for term in conjuncts(kernel.inside_block) if kernel.inside_block is not None else ():
        bound = _bound(term.left, term.right) if isinstance(term, Binary) and term.op == side else None
        if bound is None:
            continue
        split = address.coefficient(bound[0])
        grows = None if split is None else never_negative(split[0], scope)
        if split is None or grows is None:
            return None
        needed.extend(grows)
        address = split[0] * (bound[1] - constant(1 if side == "<" else 0)) + split[1]
    return Poly(poly(scope.resolve(Poly(address.terms).to_expr())).terms), tuple(needed)


def _bound(left: Expr, right: Expr) -> tuple[str, Poly] | None:
    """(variable, what it is compared with) of ``variable + number`` beside an expression."""
    form = poly(left)
    variables = [atom.name for atom in form.atoms if isinstance(atom, Var)]
    more = (form - variable(variables[0])).constant if len(variables) == 1 else None
    return None if more is None else (variables[0], poly(right) - constant(more))

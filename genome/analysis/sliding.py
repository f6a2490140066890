"""Neighbourhoods: accesses whose elements neighbouring threads touch as well, some steps apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from genome.analysis.access import Access, AffineForm, VariableKind
from genome.analysis.affine import NotAffine, affine
from genome.analysis.scope import Scope
from genome.ir.expr import Call, Expr, Select, names, rewrite
from genome.ir.poly import Poly, poly

_FARTHEST = 64  # steps; elements farther apart are no neighbourhood
_CLAMPS = frozenset({"min", "max", "umin", "umax"})


def slides(form: AffineForm, loops: Sequence[str], scope: Scope) -> tuple[str, str] | None:
    """(thread variable, loop) where one more iteration reads what the next thread reads now (``x[i + k]``)."""
    for term in form.terms:
        if term.kind is VariableKind.LOOP:
            continue
        for loop in loops:
            factor = form.coefficient(loop).scaled(scope.loops[loop].step)
            if factor.terms and (factor == term.coefficient or _overlaps(term.coefficient, factor, loop, scope)):
                return term.variable, loop
    return None


def _overlaps(thread: Poly, step: Poly, loop: str, scope: Scope) -> bool:
    """A window that moves by several steps a thread, and is known to be longer than that."""
    stride, width, trip = thread.constant, step.constant, scope.loops[loop].trip
    if stride is None or width is None or trip is None or not width:
        return False
    return stride % width == 0 and 1 < abs(stride // width) < trip


def taps(accesses: Iterable[Access], scope: Scope) -> tuple[Access, ...]:
    """The largest group of reads of one array that lie whole steps of threads apart; empty for fewer than two."""
    groups: dict[tuple[str, AffineForm], list[tuple[Access, Poly]]] = {}
    for access in accesses:
        form = access.form or unclamped(access, scope)
        if form is not None and any(term.kind is not VariableKind.LOOP for term in form.terms):
            groups.setdefault((access.array, AffineForm(Poly(), form.terms)), []).append((access, form.constant))
    found: tuple[Access, ...] = ()
    for (_, shape), members in groups.items():
        strides = [term.coefficient for term in shape.terms]
        first = members[0][1]
        near = [access for access, constant in members if _steps(constant - first, strides)]
        places = {Poly(constant.terms) for access, constant in members if access in near}
        if len(places) > 1 and len(near) > len(found):
            found = tuple(near)
    return found


def unclamped(access: Access, scope: Scope) -> AffineForm | None:
    """The form of an index whose parts are held inside an array (``max(i - 1, 0)``), without the holding."""
    if len(access.subscripts) != 1:
        return None

    def visit(node: Expr) -> Expr:
        if isinstance(node, Call) and node.function in _CLAMPS:
            return _moving(node.args, scope) or node
        if isinstance(node, Select):
            return _moving((node.then, node.other), scope) or node
        return node

    form = affine(rewrite(scope.resolve(access.subscripts[0]), visit), scope)
    return None if isinstance(form, NotAffine) else form


def _moving(parts: Sequence[Expr], scope: Scope) -> Expr | None:
    """The one part that holds a running variable; of two, the one that is a sum."""
    found = [part for part in parts if any(name in scope.kinds for name in names(part))]
    return max(found, key=lambda part: len(poly(part).terms)) if found else None


def _steps(difference: Poly, strides: Sequence[Poly]) -> bool:
    """True if the difference is a sum of few whole strides."""
    rest = Poly(difference.terms)
    for stride in sorted(strides, key=lambda s: -max(len(monomial) for monomial, _ in s.terms)):
        monomial, value = stride.terms[-1]
        have = dict(rest.terms).get(monomial, 0)
        count = (2 * have + value) // (2 * value)
        if abs(count) > _FARTHEST:
            return False
        rest -= stride.scaled(count)
    return not rest.terms

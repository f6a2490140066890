"""Scans: each result combines all elements up to its own place."""

from __future__ import annotations

from collections.abc import Sequence

from genome.analysis.access import Access, AccessMode, MemorySpace, VariableKind
from genome.analysis.facts import Idiom, IdiomName
from genome.analysis.flow import Accumulator, Flow
from genome.analysis.proof import proven
from genome.ir.expr import Binary, Expr, Index
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.stmt import Assign


def scanned(accumulator: Accumulator, inputs: Sequence[Access], results: Sequence[Access], flow: Flow) -> Idiom | None:
    """The scan that an accumulator makes: its value is stored in every iteration, or its loop ends at the result."""
    loop = accumulator.loops[-1]
    same = [other for other in flow.accumulators if other.name == accumulator.name and other.loops == accumulator.loops]
    if len(same) > 1:
        return None  # a window that takes up elements at one end and drops them at the other
    for result in results:
        if result.form is None:
            continue
        for read in inputs:
            if read.form is None or not read.form.coefficient(loop).terms:
                continue
            running = loop in result.loops and result.form.coefficient(loop) == read.form.coefficient(loop)
            if running or _ends_at(loop, read, result, flow):
                lines = tuple(sorted({accumulator.line, result.line, read.line}))
                reason = "every iteration stores what has been combined so far" if running else (
                    f"the loop over {loop} ends at the place of the result")  # fmt: skip
                arrays = tuple(dict.fromkeys((result.array, read.array)))
                return Idiom(IdiomName.SCAN, lines, arrays, proven(reason, accumulator.line))
    return None


def _ends_at(loop: str, read: Access, result: Access, flow: Flow) -> bool:
    """``for k <= c: s += x[row + k]; y[row + c] = s``: the result's index is that of the last element."""
    assert read.form is not None and result.form is not None
    scope = flow.scope
    end = poly(scope.resolve(scope.loops[loop].upper))
    for term in result.form.terms:
        if term.kind is VariableKind.LOOP or term.coefficient != read.form.coefficient(loop):
            continue
        rest = Poly((end - variable(term.variable)).terms)
        others = [other for other in result.form.terms if other.variable != term.variable]
        same = all(read.form.coefficient(other.variable) == other.coefficient for other in others)
        if rest in (Poly(), constant(1)) and same and not read.form.coefficient(term.variable).terms:
            return True
    return False


def recurrence(access: Access, stmt: Assign, flow: Flow) -> Idiom | None:
    """``y[j] = y[j - 1] + e``: the result before is a term of the next one."""
    if access.form is None or stmt.op != "=" or access.space is not MemorySpace.GLOBAL or not access.loops:
        return None
    loop = access.loops[-1]
    factor = access.form.coefficient(loop)
    step = flow.scope.loops[loop].step
    for read in flow.accesses:
        before = read.statement == access.statement and read.mode is AccessMode.READ and read.array == access.array
        if not before or read.form is None or read.form.terms != access.form.terms or not factor.terms:
            continue
        difference = Poly((access.form.constant - read.form.constant).terms)
        term = Index(read.array, read.subscripts)
        if difference == Poly(factor.scaled(step).terms) and _is_term(term, stmt.value):
            reason = "each result is the one before it and something new"
            others = [a.array for a in flow.accesses if a.statement == access.statement and a.array != access.array]
            arrays = tuple(dict.fromkeys((access.array, *others)))
            return Idiom(IdiomName.SCAN, (access.line,), arrays, proven(reason, access.line))
    return None


def _is_term(term: Expr, expr: Expr) -> bool:
    """True if the expression is a sum with that term."""
    match expr:
        case Binary("+", left, right):
            return _is_term(term, left) or _is_term(term, right)
        case Binary("-", left, _):
            return _is_term(term, left)
    return expr == term

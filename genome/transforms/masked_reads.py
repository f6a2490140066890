"""Masked reads: a condition on a term of a sum becomes a mask of the element that the term reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from genome.analysis.effects import is_pure
from genome.analysis.inside import always_inside
from genome.analysis.scope import make_scope
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Cast, Const, Expr, Index, Select, Unary, Var, names, rewrite, walk
from genome.ir.kernel import Holds, Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, Decl, If, Space, Stmt, flatten, written_names
from genome.ir.types import infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import sure_reads

_ZEROS = {"float": Const("0.0f"), "double": Const("0.0")}
_EXACT = frozenset({"int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"})


class MaskedReads:
    """``if (inside) s += A[i] * w[j];`` -> ``s += (inside ? A[i] : 0) * w[j];``.

    The statement then has no condition: the instances of a thread share what they load (``register_tile``), and a
    block can copy ``A`` with zeros where there is nothing (``masked_tile``). Legal if the term vanishes where ``A[i]``
    is zero, the sum is private, and all other elements that the term reads lie inside their arrays in any case, by the
    extents that the campaign gives: a host guard checks that. In floating point the kernel must not write those other
    elements: one that is not written yet may be no number. Floating-point sums need ``assume.reassociation``: where
    another factor is not finite, zero times it is not a number. No parameters.
    Source: zero padding as im2col does it (Chellapilla et al., 2006), without the copy.
    """

    name = "masked_reads"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array with an element whose zero makes a guarded term vanish."""
        return tuple(Site(array, f"read.guarded[{number}]") for number, array in enumerate(_guarded_arrays(kernel)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = _plan(kernel, site.label, context)
        return found if isinstance(found, Refusal) else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Masks the array in every such statement."""
        plan = _plan(kernel, site.label, context)
        assert isinstance(plan, _Plan)

        def unguard(stmt: Stmt) -> Body:
            return _masked(stmt, site.label, plan.zero) if stmt in plan.guarded and isinstance(stmt, If) else (stmt,)

        return replace(kernel, body=map_stmts(kernel.body, unguard)).require(*plan.conditions)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} counts as zero where a condition leaves it out of a sum"


@lru_cache(maxsize=64)
def _guarded_arrays(kernel: Kernel) -> tuple[str, ...]:
    conditions = (stmt for stmt in flatten(kernel.body) if isinstance(stmt, If))
    return tuple(dict.fromkeys(array for stmt in conditions for array in _maskable(kernel, stmt)))


@dataclass(frozen=True)
class _Plan:
    guarded: tuple[If, ...]
    zero: Expr
    conditions: tuple[Holds, ...]


def _plan(kernel: Kernel, array: str, context: Context) -> _Plan | Refusal:
    guarded = tuple(s for s in flatten(kernel.body) if isinstance(s, If) and array in _maskable(kernel, s))
    param = kernel.param(array)
    if not guarded or param is None:
        return Refusal(f"no condition guards terms of a sum that vanish with {array}")
    if param.ctype not in _ZEROS and param.ctype not in _EXACT:
        return Refusal(f"there is no zero of type {param.ctype}")
    types = name_types(kernel)
    exact = all(infer(term, types) in _EXACT for term in _terms(guarded))
    if not exact and not context.assumptions.reassociation:
        return Refusal(f"zero times what is not finite would reach the sum over {array}", "assume.reassociation")
    scope = make_scope(kernel)
    written = set() if exact else set(written_names(kernel.body))
    conditions: dict[Holds, None] = {}
    for access in _others(guarded, array):
        if access.array in written:
            return Refusal(
                f"{access.array} is written by the kernel: it may hold no number yet where the condition fails"
            )
        inside = always_inside(access, scope, context.spec)
        if inside is None:
            return Refusal(f"{access.array} may be read outside of its extent where the condition does not hold")
        conditions.update(dict.fromkeys(inside))
    return _Plan(guarded, _ZEROS.get(param.ctype, Const("0")), tuple(conditions))


def _maskable(kernel: Kernel, stmt: If) -> tuple[str, ...]:
    """Arrays whose zeros make every term under the condition vanish."""
    if stmt.orelse or not stmt.then or not is_pure(stmt.condition):
        return ()
    private = _private_scalars(kernel)
    terms = [inner.value for inner in stmt.then if isinstance(inner, Assign) and _adds(inner, private)]
    changed = {name for inner in stmt.then if isinstance(inner, Assign) for name in names(inner.target)}
    if len(terms) < len(stmt.then) or changed & set(names(stmt.condition)):
        return ()
    pointers = (param.name for param in kernel.params if param.pointer)
    return tuple(name for name in pointers if all(_vanishes(term, name) for term in terms))


def _private_scalars(kernel: Kernel) -> frozenset[str]:
    decls = (stmt for stmt in flatten(kernel.body) if isinstance(stmt, Decl))
    return frozenset(decl.name for decl in decls if decl.space is Space.PRIVATE and not decl.dims)


def _adds(stmt: Assign, private: frozenset[str]) -> bool:
    """True for ``s += term`` and ``s -= term`` of a private scalar, the term harmless wherever it is computed."""
    if stmt.op not in ("+=", "-=") or not isinstance(stmt.target, Var) or stmt.target.name not in private:
        return False
    divides = any(isinstance(node, Binary) and node.op in ("/", "%") for node in walk(stmt.value))
    return is_pure(stmt.value) and not divides and stmt.target.name not in names(stmt.value)


def _vanishes(term: Expr, array: str) -> bool:
    """True if the term is zero where elements of the array are, its other factors being finite."""
    match term:
        case Index(name):
            return name == array
        case Binary("*", left, right):
            return _vanishes(left, array) or _vanishes(right, array)
        case Binary("+" | "-", left, right):
            return _vanishes(left, array) and _vanishes(right, array)
        case Unary("-" | "+", operand) | Cast(_, operand):
            return _vanishes(operand, array)
    return False


def _terms(guarded: Sequence[If]) -> tuple[Expr, ...]:
    return tuple(stmt.value for each in guarded for stmt in each.then if isinstance(stmt, Assign))


def _others(guarded: Sequence[If], array: str) -> tuple[Index, ...]:
    """Elements of memory that the terms read beside those of the array."""
    found = (read for term in _terms(guarded) for read in sure_reads(_without(term, array)))
    return tuple(dict.fromkeys(found))


def _without(term: Expr, array: str) -> Expr:
    return rewrite(term, lambda node: Const("0") if isinstance(node, Index) and node.array == array else node)


def _masked(guarded: If, array: str, zero: Expr) -> Body:
    def mask(node: Expr) -> Expr:
        return Select(guarded.condition, node, zero) if isinstance(node, Index) and node.array == array else node

    result: list[Stmt] = []
    for stmt in guarded.then:
        assert isinstance(stmt, Assign)
        # An element that another one's index reads is protected by the mask around it.
        result.append(replace(stmt, value=rewrite(stmt.value, mask)))
    return tuple(result)

"""Strength reduction of divisions: quotient and remainder of a loop's variable are counted along with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genome.analysis.bounds import never_negative
from genome.analysis.effects import loop_nest
from genome.analysis.scope import make_scope
from genome.conditions import sized
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, Var, names, rewrite, walk
from genome.ir.kernel import AtLeast, Condition, Kernel
from genome.ir.poly import poly
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import Assign, Body, Decl, If, Loop, LoopRole, Opaque, expressions, flatten, written_names
from genome.ir.types import INTEGER_TYPES, infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import replace_loop, sites_of_loops
from genome.transforms.nests import NameSource


class CarriedQuotient:
    """``for k { f(k / W, k % W); }`` -> ``q = r = 0; for k { f(q, r); r += 1; if (r == W) { r = 0; q += 1; } }``.

    Both begin as quotient and rest of the loop's lower bound. A division costs some twenty instructions, the count two.
    Legal for loops that step by one, do not begin below zero and leave ``W`` alone; ``W`` is a number or a size, and
    the host guard asks for ``W >= 1``. No parameters.
    Source: Allen, Cocke and Kennedy, "Reduction of operator strength", 1981.
    """

    name = "carried_quotient"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop whose variable is divided."""
        return sites_of_loops(kernel, lambda loop: loop.role is LoopRole.SEQUENTIAL and bool(_divisors(loop)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = loop_nest(kernel.body, site.label)
        if found is None or not _divisors(found[1]):
            return Refusal(f"nothing divides the variable of the loop over {site.label}")
        loop, scope = found[1], make_scope(kernel)
        changed = set(written_names(kernel.body))
        if loop.step != 1 or loop.var in changed:
            return Refusal(f"the loop over {loop.var} does not step by one")
        if any(isinstance(stmt, Opaque) for stmt in flatten(loop.body)):
            return Refusal("the loop holds a region that the engine does not see into")
        lower = never_negative(poly(scope.resolve(loop.lower)), scope)
        if lower is None or not all(sized(context.spec, condition) for condition in lower):
            return Refusal(f"the loop over {loop.var} may begin below zero")
        for divisor in _divisors(loop):
            if changed & set(names(divisor)) or not _is_size(divisor, kernel):
                return Refusal("the divisor is no size, or changes")
            if not sized(context.spec, AtLeast(divisor, 1)):
                return Refusal("the host cannot tell that the divisor is positive")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Declares the two counts in front of the loop, and counts at the end of its body."""
        source, types, scope = NameSource(kernel), name_types(kernel), make_scope(kernel)
        needed: list[Condition] = []

        def counted(loop: Loop) -> Body:
            before: list[Decl] = []
            needed.extend(never_negative(poly(scope.resolve(loop.lower)), scope) or ())
            for divisor in _divisors(loop):
                needed.extend(() if isinstance(divisor, Const) else (AtLeast(divisor, 1),))
                loop, declared = _count(loop, divisor, types, source)
                before.extend(declared)
            return (*before, loop)

        return replace_loop(kernel, site.label, counted).require(*needed)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"quotients and remainders of {site.label} are counted instead of computed"


def _of(loop: Loop, divisor: Expr) -> tuple[Binary, Binary]:
    return Binary("/", Var(loop.var), divisor), Binary("%", Var(loop.var), divisor)


def _divisions(loop: Loop) -> Iterator[Binary]:
    for stmt in flatten(loop.body):
        for expr in expressions(stmt):
            for node in walk(expr):
                if isinstance(node, Binary) and node.op in ("/", "%") and node.left == Var(loop.var):
                    yield node


def _divisors(loop: Loop) -> tuple[Expr, ...]:
    """What the loop's variable itself is divided by."""
    return tuple(dict.fromkeys(node.right for node in _divisions(loop)))


def _is_size(expr: Expr, kernel: Kernel) -> bool:
    """True for a number above one, or an integer argument."""
    if isinstance(expr, Const):
        return expr.value is not None and expr.value > 1
    if not isinstance(expr, Var):
        return False
    param = kernel.param(expr.name)
    return param is not None and not param.pointer and name_types(kernel).get(expr.name) in INTEGER_TYPES


def _count(loop: Loop, divisor: Expr, types: Mapping[str, str], source: NameSource) -> tuple[Loop, tuple[Decl, ...]]:
    """The loop with quotient and remainder by one divisor in variables, and their declarations."""
    values: dict[Expr, Expr] = {}
    declared: list[Decl] = []
    for node, name in zip(_of(loop, divisor), ("quotient", "rest"), strict=True):
        variable = Var(source.fresh(f"{loop.var}_{name}"))
        values[node] = variable
        ctype = infer(node, types) or loop.ctype
        declared.append(Decl(variable.name, ctype, init=Binary(node.op, loop.lower, divisor)))
    quotient, rest = (Var(decl.name) for decl in declared)
    body = map_body(loop.body, lambda expr: rewrite(expr, lambda node: values.get(node, node)))
    carry = If(Binary("==", rest, divisor), (Assign(rest, Const("0")), Assign(quotient, Const("1"), "+=")))
    return replace(loop, body=(*body, Assign(rest, Const("1"), "+="), carry)), tuple(declared)

"""One pass for a sum and the sum of squared distances from a mean (variance, layer and batch normalisation)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Const, Expr, Index, Var, base_name, names, rewrite, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import poly
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Assign, Body, Decl, Loop, Stmt
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.passes import ZERO, Pair, joined, levels, once, pairs, problem, starts_at_zero

_FUSED = frozenset({"fmaf", "fma"})


class Moments:
    """``for j: p += x; t = h(p); for j: s += (x - t)^2`` -> both sums in one pass, relative to the mean so far.

    In full::

        p = 0; for j: p += x[j];         ->   p = s = n = m = 0; for j: { p += x[j]; k = n + 1; q = p / k;
        t = h(p); s = 0;                                                  s += n * (m - q)^2 + (x[j] - q)^2;
        for j: s += (x[j] - t)^2                                          n = k; m = q; }
                                              t = h(p); s += n * (m - t)^2;

    A row is then read once less. ``m`` is the mean of the ``n`` elements that the thread has seen, so that distances
    from it turn into those from any ``t``: lanes of a row each correct their own part. Legal if both loops run over the
    same iterations, the second adds squares of ``x - t`` only, for the very ``x`` that the first adds up, both sums
    start from zero, and nothing that the second reads changes from the first loop on. Needs ``assume.reassociation``.
    No parameters.
    Source: Welford, "Note on a method for calculating corrected sums of squares and products", 1962; Chan, Golub and
    LeVeque, "Algorithms for computing the sample variance", 1983.
    """

    name = "moments"
    phase = Phase.LOOPS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a sum of squared distances behind a sum."""
        found = dict.fromkeys(pair.second.scalar for body in levels(kernel.body) for pair in _pairs(body, kernel))
        return tuple(Site(name, f"sum.squares[{number}]") for number, name in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        for body in levels(kernel.body):
            for pair in _pairs(body, kernel):
                if pair.second.scalar == site.label:
                    if not context.assumptions.reassociation:
                        return Refusal(f"the sum in {site.label} would be taken apart", "assume.reassociation")
                    return problem(body, pair, context.assumptions.no_alias) or _mismatch(body, pair)
        return Refusal(f"{site.label} is no sum of squared distances behind a sum")

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Moves the second loop into the first."""
        source = NameSource(kernel)

        def fused(body: Body) -> Body | None:
            found = (pair for pair in _pairs(body, kernel) if pair.second.scalar == site.label)
            return next((_fused(body, pair, source) for pair in found), None)

        return replace(kernel, body=once(kernel.body, fused))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} is summed in the pass that finds the mean, relative to the mean so far"


@dataclass(frozen=True)
class _Added:
    """What an iteration adds, its locals written out and its loop variables numbered, and how many times."""

    value: Expr
    times: int


def _pairs(body: Body, kernel: Kernel) -> Iterator[Pair]:
    def shift(loops: tuple[Loop, ...], scalar: str) -> str:
        added = [_added(loop, scalar) for loop in loops]
        distances = [_distance(each.value) if each else None for each in added]
        centres = {distance[1] if distance else "" for distance in distances}
        return centres.pop() if len(centres) == 1 else ""

    return pairs(body, kernel, "+", shift)


def _mismatch(body: Body, pair: Pair) -> Refusal | None:
    """Why the second loops do not add squared distances of what the first ones add up."""
    if not starts_at_zero(body[: pair.first.positions.start], pair.first.scalar, pair.ctype):
        return Refusal(f"{pair.first.scalar} does not start from zero")
    for first, second in zip(pair.first.loops(body), pair.second.loops(body), strict=True):
        one, other = _added(first, pair.first.scalar), _added(second, pair.second.scalar)
        distance = _distance(other.value) if other else None
        if one is None or distance is None or distance[0] != one.value or pair.shift in names(one.value):
            return Refusal("the second loop adds other values than squared distances of what the first adds up")
    return None


def _distance(value: Expr) -> tuple[Expr, str] | None:
    """(x, t) of ``(x - t) * (x - t)``."""
    match value:
        case Binary("*", Binary("-", one, Var(name)) as left, right) if left == right:
            return one, name
    return None


def _added(loop: Loop, scalar: str) -> _Added | None:
    """None for a loop that adds several values, or only under a condition."""
    found: list[_Added] = []
    known: dict[Expr, Expr] = {}

    def written_out(expr: Expr, numbered: Mapping[str, Expr]) -> Expr:
        def visit(node: Expr) -> Expr:
            if isinstance(node, Index):
                node = Index(node.array, tuple(poly(subscript).to_expr() for subscript in node.subscripts))
            return known.get(node, node)

        return rewrite(substitute(expr, numbered), visit)

    def visit(body: Body, numbered: dict[str, Expr], times: int) -> bool:
        for stmt in body:
            match stmt:
                case Loop(var=var, trip=trip) if trip and stmt.lower == Const("0") and stmt.step == 1:
                    if not visit(stmt.body, {**numbered, var: Var(f"@{len(numbered)}")}, times * trip):
                        return False
                case Decl(name=name, init=init, dims=dims):
                    if init is not None and not dims:
                        known[Var(name)] = written_out(init, numbered)
                case Assign(target=Var(name), value=value, op=op) if name == scalar:
                    term = _term(value, op, scalar)
                    if term is None:
                        return False
                    found.append(_Added(written_out(term, numbered), times))
                case Assign(target=target, value=value, op="=") if base_name(target) != scalar:
                    known[_bare(substitute(target, numbered))] = written_out(value, numbered)
                case _:
                    return False
        return True

    good = visit(loop.body, {loop.var: Var("@0")}, 1)
    return found[0] if good and len(found) == 1 else None


def _bare(target: Expr) -> Expr:
    if isinstance(target, Index):
        return Index(target.array, tuple(poly(subscript).to_expr() for subscript in target.subscripts))
    return target


def _term(value: Expr, op: str, scalar: str) -> Expr | None:
    """What an update adds."""
    match value:
        case value if op == "+=":
            return value
        case Call(function=function, args=(left, right, Var(name))) if function in _FUSED and name == scalar:
            return Binary("*", left, right)
        case Binary("+", Var(name), other) | Binary("+", other, Var(name)) if name == scalar:
            return other
    return None


def _fused(body: Body, pair: Pair, source: NameSource) -> Body:
    total, squares = pair.first.scalar, Var(pair.second.scalar)
    count, mean = source.fresh(f"{total}_count"), source.fresh(f"{total}_mean")
    zero = Const(ZERO[pair.ctype])

    def moved(times: Expr, centre: Expr) -> Stmt:
        """Squared distances from the mean become those from another centre."""
        apart = Binary("-", Var(mean), centre)
        return Assign(squares, Binary("*", times, Binary("*", apart, apart)), "+=")

    def turn(first: Loop, second: Loop) -> Loop:
        now = source.fresh(f"{total}_now")
        added = _added(first, total)
        assert added is not None
        more = Const({"float": f"{added.times}.0f", "double": f"{added.times}.0"}[pair.ctype])
        new = Binary("/", Var(total), Binary("+", Var(count), more))
        within = substitute_body(second.body, {second.var: Var(first.var), pair.shift: Var(now)})
        between: Body = (Decl(now, pair.ctype, init=new, const=True), moved(Var(count), Var(now)))
        after: Body = (Assign(Var(count), more, "+="), Assign(Var(mean), Var(now)))
        return replace(first, body=(*first.body, *between, *within, *after))

    ahead: Body = (Decl(count, pair.ctype, init=zero), Decl(mean, pair.ctype, init=zero))
    return joined(body, pair, ahead, turn, (), (moved(Var(count), Var(pair.shift)),))

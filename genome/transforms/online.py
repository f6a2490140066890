"""One pass for a maximum and the sum of exponentials relative to it (softmax, log-sum-exp)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genome.analysis.degree import exponential_factor
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Const, Expr, Select, Var
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Assign, Body, Decl, Loop, Stmt
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.passes import ZERO, Pair, joined, levels, once, pairs, problem

_LOWEST = {"float": "-3.402823466e+38f", "double": "-1.7976931348623157e+308"}


class Online:
    """``for j: m = max(m, x); for j: s += exp(x - m)`` -> ``for j: o = m, m = max(m, x), s = s * exp(o - m) + ..``.

    In full, where ``t`` is what became of ``m`` between the loops (the total over the lanes of a row, say)::

        for j: m = max(m, x[j]);         ->   s = 0; for j: { o = m; m = max(m, x[j]);
        t = h(m); s = 0;                                      n = m finite ? m : 0; s *= exp(o - n);
        for j: s += exp(x[j] - t) * w                         s += exp(x[j] - n) * w; }
                                              own = m; t = h(m); s *= exp(own - t);

    A row is then read once less. Sums relative to the thread's own maximum become sums relative to any ``t``, so the
    lanes of a row rescale their parts before these are added up. While nothing but minus infinity was seen, the sum
    stays zero. Legal if both loops run over the same iterations, every value that the second adds is proportional to
    one ``exp(e - t)`` and uses ``t`` nowhere else, ``s`` starts from zero, the second loop stores nothing, and nothing
    that it reads changes from the first loop on. Needs ``assume.reassociation``. No parameters.
    Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
    """

    name = "online"
    phase = Phase.LOOPS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a sum of exponentials behind a loop with a maximum."""
        found = dict.fromkeys(pair.second.scalar for body in levels(kernel.body) for pair in _pairs(body, kernel))
        return tuple(Site(name, f"sum.exponential[{number}]") for number, name in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        for body in levels(kernel.body):
            for pair in _pairs(body, kernel):
                if pair.second.scalar == site.label:
                    if not context.assumptions.reassociation:
                        return Refusal(f"the sum in {site.label} would be rescaled on the way", "assume.reassociation")
                    return problem(body, pair, context.assumptions.no_alias)
        return Refusal(f"{site.label} is no sum of exponentials behind a maximum")

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Moves the second loop into the first."""
        source = NameSource(kernel)

        def fused(body: Body) -> Body | None:
            found = (pair for pair in _pairs(body, kernel) if pair.second.scalar == site.label)
            return next((_fused(body, pair, source) for pair in found), None)

        return replace(kernel, body=once(kernel.body, fused))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} is summed in the pass that finds the maximum, and rescaled when that grows"


def _pairs(body: Body, kernel: Kernel) -> Iterator[Pair]:
    def shift(loops: tuple[Loop, ...], scalar: str) -> str:
        factor = exponential_factor(loops, scalar)
        return factor.shift if factor else ""

    return pairs(body, kernel, "max", shift)


def _fused(body: Body, pair: Pair, source: NameSource) -> Body:
    factor = exponential_factor(pair.second.loops(body), pair.second.scalar)
    assert factor is not None
    running = Var(pair.first.scalar)
    own = source.fresh(f"{running.name}_own")

    def scaled(old: Expr, new: Expr) -> Stmt:
        return Assign(Var(pair.second.scalar), Call(factor.function, (Binary("-", old, new),)), "*=")

    def turn(first: Loop, second: Loop) -> Loop:
        """An iteration of both loops, the exponents relative to the maximum so far."""
        old, now = source.fresh(f"{running.name}_old"), source.fresh(f"{running.name}_now")
        finite = Binary(">=", running, Const(_LOWEST[pair.ctype]))
        relative = Select(finite, running, Const(ZERO[pair.ctype]))
        added = substitute_body(second.body, {second.var: Var(first.var), pair.shift: Var(now)})
        before: Body = (Decl(old, pair.ctype, init=running, const=True),)
        between: Body = (Decl(now, pair.ctype, init=relative, const=True), scaled(Var(old), Var(now)))
        return replace(first, body=(*before, *first.body, *between, *added))

    saved = Decl(own, pair.ctype, init=running, const=True)
    return joined(body, pair, (), turn, (saved,), (scaled(Var(own), Var(pair.shift)),))

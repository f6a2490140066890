"""Strip-mining and unrolling of sequential loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import gcd

from genome.analysis.effects import effects, loop_nest
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, Index, Select, Var, accesses, integer, names, rewrite
from genome.ir.kernel import Divisible, Kernel
from genome.ir.poly import Poly, multiple_of, poly, simplify
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body, map_stmts, substitute_body
from genome.ir.stmt import Body, Decl, Loop, LoopRole, Opaque, Stmt, flatten, written_names
from genome.ir.types import infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import loop_sites

_MOST = 1024  # iterations of a strip


class SplitLoop(ABC):
    """A loop in strips of a constant number of iterations, and what is left over."""

    phase = Phase.LOOPS
    targets = ALL_TARGETS
    _neutral: tuple[int, ...] = (1,)

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The loops that the user wrote (or their parts)."""
        return loop_sites(kernel)

    @abstractmethod
    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Factors worth trying."""

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs a counted loop of step 1 without declarations that an opaque region uses."""
        found = loop_nest(kernel.body, site.label)
        factor = params.get("factor")
        if found is None or not isinstance(factor, int) or factor in self._neutral or not 0 <= factor <= _MOST:
            return Refusal("there is no such loop or factor")
        loop = found[1]
        if factor == 0:
            return None if loop.trip is not None else Refusal("only a constant trip count can be unrolled in full")
        if loop.step != 1:
            return Refusal(f"the loop over {loop.var} does not step by one")
        if loop.trip is not None and loop.trip < factor:
            return Refusal(f"the loop over {loop.var} has only {loop.trip} iterations")
        if any(isinstance(stmt, Opaque) for stmt in flatten(loop.body)):
            return Refusal("the loop holds a region that the engine does not see into")
        return steady_bounds(kernel, loop, context)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Splits the loop wherever it stands in the body (not in the guarded tail)."""
        factor = int(params["factor"])
        found = loop_nest(kernel.body, site.label)
        assert found is not None
        outer, inner = kernel.fresh(f"{site.label}_outer"), kernel.fresh(f"{site.label}_inner")

        def split(stmt: Stmt) -> Body:
            if not (isinstance(stmt, Loop) and stmt.var == site.label):
                return (stmt,)
            if factor == 0:
                return (replace(stmt, unroll=0),)
            return split_loop(stmt, factor, outer, inner, kernel, self._inner_unroll())

        body = map_stmts(kernel.body, split)
        if factor:
            kernel = kernel.require(*granted(poly(found[1].upper) - poly(found[1].lower), factor, kernel))
        start = gcd(factor, multiple_of(poly(found[1].lower), proven(kernel)))
        return replace(kernel, body=body, multiples=(*kernel.multiples, (outer, start)))

    @abstractmethod
    def _inner_unroll(self) -> int | None:
        """Unroll pragma of the inner loop."""


class Strip(SplitLoop):
    """``for k < K`` -> ``for k_outer < K step n { for k_inner < n } for k: what is left over``.

    Makes the constant-trip inner loop that a shared-memory tile needs. Always legal (order is kept).
    Parameters: ``factor`` iterations a strip, 4 to 64.
    """

    name = "strip"
    _neutral = (0, 1)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"factor": (4, 8, 16, 32, 64)} if _is_whole(kernel, site) else {}

    def _inner_unroll(self) -> int | None:
        return 0

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the loop over {site.label} is cut into strips of {params['factor']}"


class Unroll(SplitLoop):
    """``for k < K`` -> ``for k_outer < K step n { n copies of the body } for k: what is left over``.

    Always legal (order is kept). Parameters: ``factor`` 2 to 16; 0 unrolls a constant trip count in full.
    """

    name = "unroll"

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two, and 0 where the trip count is a constant."""
        found = loop_nest(kernel.body, site.label)
        if found is None or found[1].role is not LoopRole.SEQUENTIAL:
            return {}
        trip = found[1].trip
        factors = tuple(n for n in (2, 4, 8, 16) if trip is None or n < trip)
        return {"factor": (*factors, 0) if trip is not None and trip <= 128 else factors}

    def _inner_unroll(self) -> int | None:
        return 0

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        factor = params["factor"]
        return f"the loop over {site.label} is unrolled " + (f"{factor} times" if factor else "in full")


def steady_bounds(kernel: Kernel, loop: Loop, context: Context) -> Refusal | None:
    """The bounds must hold for a whole strip, not only for the iteration that reads them."""
    written = set(written_names(loop.body))
    bounds = (loop.lower, loop.upper)
    if loop.var in written or any(written & set(names(bound)) for bound in bounds):
        return Refusal(f"the loop over {loop.var} changes its own bounds")
    pointers = {param.name for param in kernel.params if param.pointer}
    read = [access.array for bound in bounds for access in accesses(bound) if access.array in pointers]
    seen = effects(loop.body)
    if read and not context.assumptions.no_alias and (written & pointers or seen.calls):
        return Refusal(f"the loop over {loop.var} stores to what may overlap its bound", "assume.no_alias")
    return Refusal(f"the loop over {loop.var} may update its own bound") if read and seen.calls else None


def proven(kernel: Kernel) -> dict[str, int]:
    """Numbers that divide variables whatever the campaign grants of the parameters."""
    return {name: by for name, by in kernel.multiples if kernel.param(name) is None}


def granted(extent: Poly, factor: int, kernel: Kernel) -> tuple[Divisible, ...]:
    """What the campaign grants and the divisibility of the extent relies on; nothing where it is proved or unknown.

    It is guarded all the same: the baseline runs where it does not hold.
    """
    if multiple_of(extent, dict(kernel.multiples)) % factor or multiple_of(extent, proven(kernel)) % factor == 0:
        return ()
    facts = dict(kernel.multiples)
    used = dict.fromkeys(name for atom in extent.atoms for name in names(atom) if kernel.param(name) and name in facts)
    return tuple(Divisible(Var(name), facts[name]) for name in used)


def _is_whole(kernel: Kernel, site: Site) -> bool:
    found = loop_nest(kernel.body, site.label)
    return found is not None and found[1].role is LoopRole.SEQUENTIAL


def split_loop(loop: Loop, factor: int, outer: str, inner: str, kernel: Kernel, unroll: int | None) -> Body:
    """Main loop over whole strips, and the loop over what is left (none where the factor divides the trip count)."""
    low, high = loop.lower, loop.upper
    extent = poly(high) - poly(low)
    divides = multiple_of(extent, dict(kernel.multiples)) % factor == 0
    limit = high if divides else _whole_strips(loop, factor, name_types(kernel))
    body = substitute_body(loop.body, {loop.var: Binary("+", Var(outer), Var(inner))})
    strip = Loop(inner, Const("0"), integer(factor), body, role=LoopRole.STRIP, unroll=unroll, ctype=loop.ctype)
    main = Loop(outer, low, limit, (strip,), step=factor, role=LoopRole.TILE, ctype=loop.ctype)
    main = replace(main, origin=loop.origin)
    if divides:
        return (main,)
    rest = replace(loop, lower=limit, role=LoopRole.REMAINDER, body=renamed(loop.body, kernel.fresh, "rest"))
    return (main, rest)


def _whole_strips(loop: Loop, factor: int, types: Mapping[str, str]) -> Expr:
    """Upper limit of the whole strips. C's truncating division keeps both loops empty when the range is."""
    low, high = loop.lower, loop.upper
    constant = (poly(high) - poly(low)).constant
    if constant is not None:
        return simplify(Binary("+", low, integer(max(0, constant) // factor * factor)))
    if poly(low).constant == 0:
        return Binary("*", Binary("/", high, integer(factor)), integer(factor))
    whole = Binary("*", Binary("/", Binary("-", high, low), integer(factor)), integer(factor))
    limit = Binary("+", low, whole)
    return limit if signed_range(loop, types) else Select(Binary("<", low, high), limit, low)


def signed_range(loop: Loop, types: Mapping[str, str]) -> bool:
    """True if the difference of the loop's bounds is negative, rather than huge, where the loop is empty."""
    return all(infer(bound, types) in ("int", "long", "long long") for bound in (loop.lower, loop.upper))


def renamed(body: Body, fresh: Callable[[str], str], suffix: str) -> Body:
    """The body with every name that it declares renamed, so that names stay unique in the kernel."""
    renames: dict[str, str] = {}
    for stmt in flatten(body):
        if isinstance(stmt, Decl):
            renames[stmt.name] = fresh(f"{stmt.name}_{suffix}")
        elif isinstance(stmt, Loop):
            renames[stmt.var] = fresh(f"{stmt.var}_{suffix}")

    def visit(node: Expr) -> Expr:
        if isinstance(node, Var) and node.name in renames:
            return Var(renames[node.name])
        if isinstance(node, Index) and node.array in renames:
            return Index(renames[node.array], node.subscripts)
        return node

    def rename(stmt: Stmt) -> Body:
        if isinstance(stmt, (Decl,)):
            return (replace(stmt, name=renames[stmt.name]),)
        if isinstance(stmt, Loop):
            return (replace(stmt, var=renames[stmt.var]),)
        return (stmt,)

    def kept(expr: Expr) -> bool:
        return renames.keys().isdisjoint(names(expr))

    return map_stmts(map_body(body, lambda expr: rewrite(expr, visit, kept)), rename)

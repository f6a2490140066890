"""Loop-invariant loads: what every iteration reads again is read once, in front of the loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from genome.analysis.effects import element_type, is_pure, loop_nest
from genome.analysis.proof import Proof
from genome.analysis.read_only import steady_read
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Unary, Var, names, rewrite, walk
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import (
    Assign,
    Body,
    Break,
    Decl,
    If,
    Loop,
    Opaque,
    Stmt,
    VectorLoad,
    expressions,
    flatten,
    written_names,
)
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import refused, replace_loop, sites_of_loops
from genome.transforms.nests import NameSource, sure_reads


class HoistLoads:
    """``for k: s += a[i] * b[k]`` -> ``float v; if (0 < K) v = a[i]; for k: s += v * b[k]``.

    A compiler leaves such a load in the loop as soon as a store may overlap it. Legal for elements that every iteration
    reads for certain, at an address that the loop does not change, of arrays that the kernel only reads. No parameters.
    Source: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 8.3 (scalar replacement).
    """

    name = "hoist_loads"
    phase = Phase.REGISTERS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop that reads elements whose address it does not change."""
        return sites_of_loops(kernel, lambda loop: bool(_fixed(kernel, loop)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses where no such load is known to stay the same."""
        found = loop_nest(kernel.body, site.label)
        fixed = _fixed(kernel, found[1]) if found is not None else ()
        if found is None or not fixed:
            return Refusal(f"the loop over {site.label} reads nothing twice for certain")
        doubts = [_doubt(kernel, found[1], read, context) for read in fixed]
        return None if None in doubts else refused(doubts[0])

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Loads each of them in front of the loop."""
        source = NameSource(kernel)

        def hoisted(loop: Loop) -> Body:
            declared: list[Stmt] = []
            loads: list[Stmt] = []
            while read := next((r for r in _fixed(kernel, loop) if _doubt(kernel, loop, r, context) is None), None):
                name, ctype = source.fresh(f"{read.array}_value"), element_type(kernel, read.array) or "float"
                declared.append(Decl(name, ctype, init=read if loop.trip else None))
                loads.append(Assign(Var(name), read))
                loop = replace(loop, body=with_value(loop.body, read, Var(name)))
            guarded = () if loop.trip else (If(Binary("<", loop.lower, loop.upper), tuple(loads)),)
            return (*declared, *guarded, loop)

        return replace_loop(kernel, site.label, hoisted)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"what the loop over {site.label} reads in every iteration is read once"


def with_value(body: Body, read: Index, value: Expr) -> Body:
    """The body with every read of an element replaced by a value."""
    return map_body(body, lambda expr: rewrite(expr, lambda node: value if node == read else node))


def certain_reads(body: Body) -> Iterator[Index]:
    """Elements that are read whenever the body runs, in order."""
    for stmt in body:
        if isinstance(stmt, Break | Opaque):
            return  # what follows may not run
        for expr in expressions(stmt):
            yield from sure_reads(expr)
        if isinstance(stmt, Loop) and stmt.trip:
            yield from certain_reads(stmt.body)


@lru_cache(maxsize=1024)
def changing(body: Body) -> frozenset[str]:
    """Names that the body declares or writes."""
    inside = tuple(flatten(body))
    own = {stmt.name for stmt in inside if isinstance(stmt, Decl)} | {s.var for s in inside if isinstance(s, Loop)}
    return frozenset(own | set(written_names(body)))


def movable_reads(kernel: Kernel, body: Body, reads: Iterable[Index]) -> tuple[Index, ...]:
    """Those of the reads that go to arguments, each once; wide accesses and elements whose address is used stay."""
    pointers = {param.name for param in kernel.params if param.pointer}
    found = dict.fromkeys(read for read in reads if read.array in pointers and is_pure(read))
    bound = _bound_elements(body) if found else frozenset()
    return tuple(read for read in found if read not in bound)


@lru_cache(maxsize=1024)
def _bound_elements(body: Body) -> frozenset[Expr]:
    """Elements whose address is used, and those where wide accesses begin."""
    inside = tuple(flatten(body))
    nodes = (node for stmt in inside for expr in expressions(stmt) for node in walk(expr))
    addressed = {node.operand for node in nodes if isinstance(node, Unary) and node.op == "&"}
    return frozenset(addressed) | {stmt.source for stmt in inside if isinstance(stmt, VectorLoad)}


def _fixed(kernel: Kernel, loop: Loop) -> tuple[Index, ...]:
    """Elements of arguments that every iteration reads for certain, at an address that the loop does not change."""
    moving = changing(loop.body) | {loop.var}
    found = movable_reads(kernel, loop.body, certain_reads(loop.body))
    return tuple(read for read in found if moving.isdisjoint(names(read)))


def _doubt(kernel: Kernel, loop: Loop, read: Index, context: Context) -> Proof | None:
    return steady_read(kernel, read, changing(loop.body) | {loop.var}, context.assumptions.no_alias)

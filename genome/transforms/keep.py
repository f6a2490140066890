"""Values that several passes over the same elements read stay in registers between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from genome.analysis.dependence import nest
from genome.analysis.effects import element_type
from genome.analysis.touches import touches
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Var, accesses, integer, names, rewrite, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, poly
from genome.ir.rewrite_stmt import map_exprs, with_bodies
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    Loop,
    LoopRole,
    Opaque,
    Stmt,
    expressions,
    flatten,
    used_names,
    written_names,
)
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource, sure_reads
from genome.transforms.passes import levels

_MOST = 128
"""Values of a thread: more of them do not stay in registers."""


class Keep:
    """Two loops over ``x[r, j]`` -> one that loads, two that compute: ``for o k[o] = x[..]; for o f(k[o]); for o ..``.

    In full, for loops of constant trip counts whose bodies read the same addresses::

        for o < 8: for v < 4: s += x[a + o*T + v]    ->  float k[8][4]; for o: for v: k[o][v] = x[a + o*T + v];
        ...                                              for o: for v: s += k[o][v];     ...
        for o < 8: for v < 4: y[b] = x[a + ..] / s       for o: for v: y[b] = k[o][v] / s;

    All loads are then under way together, and each element is read once. The loops are unrolled in full, since an array
    stays in registers only where its subscripts are constants.
    Legal if the first of the loops surely reads the element, and from it to the last one nothing writes the array, or
    what may overlap it, nor what the address is made of. A later loop that does ends the row of loops that share.
    Needs ``assume.no_alias`` where something is stored in between. No parameters; at most 128 values a thread.
    Source: Callahan, Carr and Kennedy, "Improving register allocation for subscripted variables", PLDI 1990.
    """

    name = "keep"
    phase = Phase.REGISTERS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that several loops of constant trip counts read at the same addresses."""
        arrays = [param.name for param in kernel.params if param.pointer]
        several = [body for body in levels(kernel.body) if sum(isinstance(stmt, Loop) for stmt in body) > 1]
        repeated = [array for array in arrays if any(_groups(body, array) for body in several)]
        return tuple(Site(array, f"read.passes[{number}]") for number, array in enumerate(repeated))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        problem = Refusal(f"no two loops of constant trip counts read the same elements of {site.label}")
        for body in levels(kernel.body):
            for group in _groups(body, site.label):
                kept = _legal(body, group, site.label, kernel, context.assumptions.no_alias)
                if not isinstance(kept, Refusal):
                    return None
                problem = kept
        return problem

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Loads in front of the first loop of each group, and reads the registers from there on."""
        source = NameSource(kernel)

        def visit(body: Body) -> Body:
            inner = tuple(with_bodies(stmt, visit) for stmt in body)
            while True:
                legal = (_legal(inner, group, site.label, kernel, context.assumptions.no_alias)
                         for group in _groups(inner, site.label))  # fmt: skip
                found = next((kept for kept in legal if not isinstance(kept, Refusal)), None)
                if found is None:
                    return inner
                inner = _rewritten(inner, found, kernel, source)

        return replace(kernel, body=visit(kernel.body))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"what several loops read of {site.label} is loaded once, and stays in registers between them"


@dataclass(frozen=True)
class _Read:
    """One read of the array in a statement of a body: where, in which loops, and whether it surely happens."""

    position: int
    access: Index
    loops: tuple[Loop, ...]
    sure: bool

    @property
    def along(self) -> tuple[Loop, ...]:
        """The loops that the address follows."""
        return tuple(loop for loop in self.loops if loop.var in names(self.access))


@dataclass(frozen=True)
class _Key:
    """An address with its loop variables replaced by their positions, and the trip counts of these loops."""

    address: Poly
    trips: tuple[int, ...]


@dataclass(frozen=True)
class _Group:
    """Reads of the same elements, in program order."""

    key: _Key
    reads: tuple[_Read, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(read.position for read in self.reads))


@lru_cache(maxsize=1024)
def _groups(body: Body, array: str) -> tuple[_Group, ...]:
    """Reads in loops of the body, by what they read, where more than one loop reads it."""
    if sum(isinstance(stmt, Loop) and array in used_names((stmt,)) for stmt in body) < 2:
        return ()
    found: dict[_Key, list[_Read]] = {}
    for position, stmt in enumerate(body):
        for read in _reads(stmt, array, position, (), True) if isinstance(stmt, Loop) else ():
            key = _key(read)
            if key is not None:
                found.setdefault(key, []).append(read)
    groups = (_Group(key, tuple(reads)) for key, reads in found.items())
    return tuple(group for group in groups if len(group.positions) > 1)


def _reads(stmt: Stmt, array: str, position: int, loops: tuple[Loop, ...], sure: bool) -> Iterator[_Read]:
    for expr in (stmt.value,) if isinstance(stmt, Assign) else expressions(stmt):
        certain = sure_reads(expr)
        for access in dict.fromkeys(access for access in accesses(expr) if access.array == array):
            yield _Read(position, access, loops, sure and access in certain)
    if isinstance(stmt, Loop):
        for inner in stmt.body:
            yield from _reads(inner, array, position, (*loops, stmt), sure and bool(stmt.trip))
    else:
        for inner in stmt.inside:
            yield from _reads(inner, array, position, loops, False)


def _key(read: _Read) -> _Key | None:
    """None for an address that no loop moves, or one in a loop whose trip count is not known."""
    trips = [loop.trip for loop in read.along]
    if not trips or len(read.access.subscripts) != 1 or any(not trip for trip in trips):
        return None
    values = {
        loop.var: Binary("+", loop.lower, Binary("*", Var(f"@{depth}"), integer(loop.step)))
        for depth, loop in enumerate(read.along)
    }
    return _Key(poly(substitute(read.access.subscripts[0], values)), tuple(trip for trip in trips if trip))


def _legal(body: Body, group: _Group, array: str, kernel: Kernel, no_alias: bool) -> _Group | Refusal:
    """The part of the group that may share what it loads, or why not even its first two loops may."""
    first = group.positions[0]
    if prod(group.key.trips) > _MOST:
        return Refusal(f"{prod(group.key.trips)} values of {array} a thread are more than {_MOST}")
    if not any(read.sure for read in group.reads if read.position == first):
        return Refusal(f"the first loop may not read {array}")
    parts = {name for atom in group.key.address.atoms for name in names(atom)}
    problem: Refusal | None = None
    last = first
    for position in range(first, group.positions[-1] + 1):
        problem = _disturbs(body[position], array, parts, kernel, no_alias)
        if problem is not None:
            break
        last = position
    reads = tuple(read for read in group.reads if read.position <= last)
    kept = _Group(group.key, reads)
    if len(kept.positions) < 2:
        return problem or Refusal(f"only one loop reads {array} before it changes")
    return kept


def _disturbs(stmt: Stmt, array: str, parts: set[str], kernel: Kernel, no_alias: bool) -> Refusal | None:
    """Why values of the array may not be kept across the statement."""
    pointers = frozenset(param.name for param in kernel.params if param.pointer)
    inside = list(flatten((stmt,)))
    if any(isinstance(inner, Opaque) for inner in inside):
        return Refusal("there is a region between the loops that the engine does not see into")
    stored = touches((stmt,), pointers).written
    if array in stored:
        return Refusal(f"{array} is written between the loops")
    if (set(written_names((stmt,))) | {inner.name for inner in inside if isinstance(inner, Decl)}) & parts:
        return Refusal(f"the address in {array} changes between the loops")
    if stored and not no_alias:
        return Refusal(f"what is stored between the loops may overlap {array}", "assume.no_alias")
    return None


def _rewritten(body: Body, group: _Group, kernel: Kernel, source: NameSource) -> Body:
    """The body with the group's values loaded in front of its first loop."""
    read = next(read for read in group.reads if read.sure)
    array = read.access.array
    kept = source.fresh(f"{array}_kept")

    def replaced(position: int, stmt: Stmt) -> Stmt:
        mine: dict[Expr, Expr] = {r.access: _element(kept, r.along) for r in group.reads if r.position == position}
        along = {loop.var for other in group.reads if other.position == position for loop in other.along}
        return _unrolled(map_exprs(stmt, lambda expr: rewrite(expr, lambda node: mine.get(node, node))), along)

    loads = _loads(read, group.key, kept, element_type(kernel, array) or "float", source)
    first = group.positions[0]
    changed = (replaced(at, stmt) if at in group.positions else stmt for at, stmt in enumerate(body[first:], first))
    return (*body[:first], *loads, *changed)


def _loads(read: _Read, key: _Key, kept: str, ctype: str, source: NameSource) -> Body:
    counters = [source.fresh(f"{loop.origin or loop.var}_kept") for loop in read.along]
    loops = [Loop(var, integer(0), integer(trip), (), role=LoopRole.INSTANCE, unroll=0)
             for var, trip in zip(counters, key.trips, strict=True)]  # fmt: skip
    address = substitute(key.address.to_expr(), {f"@{depth}": Var(var) for depth, var in enumerate(counters)})
    target = Index(kept, tuple(Var(var) for var in counters))
    return (Decl(kept, ctype, key.trips), nest(loops, Assign(target, Index(read.access.array, (address,)))))


def _element(kept: str, along: Sequence[Loop]) -> Expr:
    return Index(kept, tuple(_turn(loop) for loop in along))


def _turn(loop: Loop) -> Expr:
    """The number of the iteration."""
    from_zero = (poly(Var(loop.var)) - poly(loop.lower)).to_expr()
    return from_zero if loop.step == 1 else Binary("/", from_zero, integer(loop.step))


def _unrolled(stmt: Stmt, variables: set[str]) -> Stmt:
    if isinstance(stmt, Loop):
        inner = tuple(_unrolled(each, variables) for each in stmt.body)
        return replace(stmt, body=inner, unroll=0 if stmt.var in variables else stmt.unroll)
    return with_bodies(stmt, lambda body: tuple(_unrolled(each, variables) for each in body))

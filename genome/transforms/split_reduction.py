"""Split-K: the blocks of a third dimension share a reduction loop, and a second launch adds up their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from genome.analysis.effects import TOGETHER, effects, is_pure, self_contained
from genome.analysis.reductions import SUPPORTED, NotAReduction, Reduction, carried_scalars, find_reductions
from genome.conditions import sizes_text
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Select, Var, accesses, integer, names
from genome.ir.kernel import Finish, Holds, Kernel, Param
from genome.ir.poly import poly, simplify
from genome.ir.print_source import name_types
from genome.ir.stmt import Assign, Body, Decl, Loop, LoopRole, Repeat, expressions, flatten, used_names, written_names
from genome.ir.types import canonical
from genome.sizes import ExpressionError, SizeExpr
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource

_GRAIN = 32
"""Parts of a loop are multiples of so many iterations, so that strips and vectors of them are whole."""
_MOST = 64
_ELEMENTS = 2**31 - 1


class SplitReduction:
    """``s = 0; for k < K: s += f(k); y = g(s)`` -> blocks along z: ``w[z][..] = part z``; then ``y = g(sum of w)``.

    In full::

        s = h; for k < K: s += f(k);   ->   first launch:  s = 0; for k in part z of K: s += f(k);  w[z][i] = s;
        y = g(s)                            second launch: s = h; for p < P: s += w[p][i];          y = g(s)

    A kernel with few results, but long sums, so has blocks enough. Parts are added in their order: the result is the
    same in every run. Several sums of one type have their places in one buffer, ``w[z][sum][i]``. Legal if the loop
    stands at the top of the body and is the only one in it, carries recognised reductions of one type and stores
    nothing, its bounds are expressions of scalar parameters, it reads nothing that is stored in front of it (which is
    left to the second launch), and every axis is bounded by an expression of sizes. Needs ``assume.reassociation`` for
    floating-point sums, and ``assume.no_alias`` where statements in front of the loop touch memory.
    Parameters: ``parts``, 2 to 64 blocks that share the loop.
    Source: split-K matrix products of CUTLASS (parallel reduction through a workspace).
    """

    name = "split_reduction"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The loops at the top of the body that carry a scalar."""
        loops = [stmt for stmt in kernel.body if isinstance(stmt, Loop) and carried_scalars(stmt.body)]
        return tuple(Site(loop.var, f"reduction.top[{number}]") for number, loop in enumerate(loops))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"parts": (2, 4, 8, 16, 32)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        parts = params.get("parts")
        if not isinstance(parts, int) or not 2 <= parts <= _MOST:
            return Refusal(f"a loop is split into 2 to {_MOST} parts")
        plan = _plan(kernel, site.label, context)
        return plan if isinstance(plan, Refusal) else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Makes two kernels of one."""
        plan, parts = _plan(kernel, site.label, context), int(params["parts"])
        assert isinstance(plan, _Plan)
        names_of = NameSource(kernel)
        buffer = names_of.fresh(f"{plan.reductions[0].name}_parts")
        last = _second(kernel, plan, buffer, parts, names_of)
        elements = f"{parts * len(plan.reductions)} * {plan.elements}"
        finish = Finish(last, buffer, plan.ctype, SizeExpr(elements))
        first = _first(kernel, plan, buffer, parts, names_of)
        return replace(first, finish=finish, parts=parts).require(Holds(SizeExpr(f"{elements} <= {_ELEMENTS}")))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{params['parts']} blocks share the loop over {site.label}; a second launch adds up their parts"


@dataclass(frozen=True)
class _Plan:
    """The loop, what stands around it, and the results of a launch.

    Attributes:
        before: Statements in front of the loop.
        loop: The loop.
        after: Statements behind it.
        reductions: What it carries.
        ctype: Type of each of them.
        number: The number of an instance of the body among all.
        count: How many there are, in the kernel.
        elements: The same as text over sizes.
    """

    before: Body
    loop: Loop
    after: Body
    reductions: tuple[Reduction, ...]
    ctype: str
    number: Expr
    count: Expr
    elements: str


def _plan(kernel: Kernel, var: str, context: Context) -> _Plan | Refusal:
    found = [at for at, stmt in enumerate(kernel.body) if isinstance(stmt, Loop) and stmt.var == var]
    if len(found) != 1:
        return Refusal("there is no such loop at the top of the body")
    before, loop, after = kernel.body[: found[0]], kernel.body[found[0]], kernel.body[found[0] + 1 :]
    assert isinstance(loop, Loop)
    if any(isinstance(stmt, Loop | Repeat) for stmt in flatten((*before, *after))):
        return Refusal("the second launch would run the other loops of the body by itself, with one thread an element")
    problem = _geometry(kernel) or _surroundings(kernel, before, loop)
    if problem is not None:
        return problem
    types = name_types(kernel)
    try:
        reductions = find_reductions(loop.body, carried_scalars(loop.body), types)
    except NotAReduction as error:
        return Refusal(str(error))
    ctypes = {types.get(reduction.name, "") for reduction in reductions}
    if len(ctypes) != 1 or not ctypes <= set(SUPPORTED):
        return Refusal("the loop carries scalars of several types, or of one that has no buffers")
    ctype = ctypes.pop()
    for reduction in reductions:
        if not context.assumptions.reassociation and not reduction.exact(ctype):
            return Refusal(f"the sum in {reduction.name} would be reordered", "assume.reassociation")
    if _reads_stored(before, loop, reductions):
        return Refusal("the loop reads what is stored in front of it")
    seen = effects(before)
    if not context.assumptions.no_alias and (seen.reads or seen.stores):
        return Refusal("memory in front of the loop may be the buffers that it reads or fills", "assume.no_alias")
    number, count, sizes = poly(integer(0)), poly(integer(1)), []
    try:
        for axis in kernel.axes:
            assert axis.upper is not None
            number += count * poly(Var(axis.name))
            count = count * poly(axis.upper)
            sizes.append(f"({sizes_text(context.spec, axis.upper)})")
    except ExpressionError as error:
        return Refusal(str(error))
    return _Plan(before, loop, after, tuple(reductions), ctype, number.to_expr(), count.to_expr(), " * ".join(sizes))


def _geometry(kernel: Kernel) -> Refusal | None:
    """Why blocks of a third dimension cannot be added."""
    if kernel.finish is not None:
        return Refusal("another loop is split already")
    if not kernel.axes or any(axis.upper is None or axis.strided for axis in kernel.axes):
        return Refusal("an axis has no bound that the host knows")
    if any(axis.dim == "z" for axis in kernel.axes):
        return Refusal("the third dimension of the launch is taken")
    if not self_contained(kernel) or any(variable.given for variable in kernel.variables):
        return Refusal(TOGETHER)
    if any(set(names(axis.upper)) - _scalars(kernel) for axis in kernel.axes if axis.upper is not None):
        return Refusal("the bound of an axis is no expression of scalar parameters")
    return None


def _scalars(kernel: Kernel) -> set[str]:
    return {param.name for param in kernel.params if not param.pointer} - set(written_names(kernel.body))


def _surroundings(kernel: Kernel, before: Body, loop: Loop) -> Refusal | None:
    """Why the loop cannot run apart from what stands around it."""
    if loop.step != 1 or loop.role is not LoopRole.SEQUENTIAL:
        return Refusal(f"the loop over {loop.var} does not step by one")
    bounds = {name for bound in (loop.lower, loop.upper) for name in names(bound)}
    if bounds - _scalars(kernel) or any(accesses(loop.lower)) or any(accesses(loop.upper)):
        return Refusal(f"the bounds of the loop over {loop.var} are no expressions of scalar parameters")
    if not is_pure(loop.lower) or not is_pure(loop.upper):
        return Refusal(f"the bounds of the loop over {loop.var} call functions")
    private = {stmt.name for stmt in flatten(kernel.body) if isinstance(stmt, Decl)}
    seen = effects((*_values(before), loop))
    if seen.opaque or seen.calls or seen.barriers or any(store.array not in private for store in seen.stores):
        return Refusal("the loop, or what stands in front of it, does more than compute values")
    return None


def _reads_stored(before: Body, loop: Loop, reductions: Sequence[Reduction]) -> bool:
    """True if the first launch would read what the second one stores: what a sum starts from is left to the second."""
    own = _begun(_values(before), reductions)
    needed = tuple(stmt for stmt in _values(before) if not (isinstance(stmt, Decl) and stmt.name in own))
    stored = {store.array for store in effects(before).stores}
    return bool(stored & {read.array for read in effects((*needed, loop)).reads})


def _values(before: Body) -> Body:
    """The statements in front of the loop without those that store: the second launch does that."""
    return tuple(stmt for stmt in before if not (isinstance(stmt, Assign) and isinstance(stmt.target, Index)))


def _first(kernel: Kernel, plan: _Plan, buffer: str, parts: int, source: NameSource) -> Kernel:
    """The kernel whose blocks along z each do a part of the loop."""
    loop = plan.loop
    part, share, start, end = (source.fresh(f"{loop.var}_{word}") for word in ("part", "share", "from", "to"))
    grains = integer(parts * _GRAIN)
    rounded = Binary("+", Binary("-", loop.upper, loop.lower), Binary("-", grains, integer(1)))
    each = Binary("*", Binary("/", simplify(rounded), grains), integer(_GRAIN))
    own = simplify(Binary("+", loop.lower, Binary("*", Var(part), Var(share))))
    whole = Binary("+", Var(start), Var(share))
    prologue: Body = (
        Decl(part, "int", init=Var("blockIdx.z"), const=True),
        Decl(share, loop.ctype, init=each, const=True),
        Decl(start, loop.ctype, init=own, const=True),
        Decl(end, loop.ctype, init=Select(Binary("<", whole, loop.upper), whole, loop.upper), const=True),
    )
    mine = replace(loop, lower=Var(start), upper=Var(end))
    stores: Body = tuple(
        Assign(Index(buffer, (_place(plan, part, number),)), Var(reduction.name))
        for number, reduction in enumerate(plan.reductions)
    )
    grain = _GRAIN if poly(loop.lower).constant == 0 else 1
    return replace(
        kernel,
        params=(*kernel.params, Param(buffer, plan.ctype, pointer=True)),
        prologue=(*kernel.prologue, *prologue),
        body=(*_cleared(plan), mine, *stores),
        multiples=(*kernel.multiples, (start, grain), (share, _GRAIN)),
    )


def _place(plan: _Plan, part: str, number: int) -> Expr:
    """Where in the buffer a part of the reduction of that number is, for the instance at hand."""
    row = Binary("+", Binary("*", Var(part), integer(len(plan.reductions))), integer(number))
    return (poly(Binary("*", row, plan.count)) + poly(plan.number)).to_expr()


def _begun(before: Body, reductions: Sequence[Reduction]) -> set[str]:
    """The carried scalars whose declared value only the second launch needs: nothing in front of the loop uses it."""
    own = {reduction.name for reduction in reductions if not reduction.idempotent}
    declared = [stmt for stmt in before if isinstance(stmt, Decl) and stmt.name in own]
    others = tuple(stmt for stmt in before if stmt not in declared)
    read = {name for stmt in declared for expr in expressions(stmt) for name in names(expr)}
    return {stmt.name for stmt in declared} - used_names(others) - read


def _cleared(plan: _Plan) -> Body:
    """What stands in front of the loop, the scalars that it carries left neutral where parts would count them twice."""
    neutral = {r.name: r.identity(plan.ctype) for r in plan.reductions if not r.idempotent}
    values = _values(plan.before)
    begun = _begun(values, plan.reductions)
    before = tuple(
        replace(stmt, init=neutral[stmt.name]) if isinstance(stmt, Decl) and stmt.name in begun else stmt
        for stmt in values
    )
    return (*before, *(Assign(Var(name), value) for name, value in neutral.items() if name not in begun))


def _second(kernel: Kernel, plan: _Plan, buffer: str, parts: int, source: NameSource) -> Kernel:
    """The kernel that adds up the parts of each instance, and does the rest of the body."""
    part = source.fresh(f"{plan.loop.var}_added")
    combined = tuple(
        reduction.combine(Var(reduction.name), Index(buffer, (_place(plan, part, number),)))
        for number, reduction in enumerate(plan.reductions)
    )
    total = Loop(part, integer(0), integer(parts), combined, unroll=0, role=LoopRole.COMBINE)
    return replace(
        kernel,
        name=source.fresh(f"{kernel.name}_finish"),
        params=(*kernel.params, Param(buffer, canonical(plan.ctype), pointer=True, const=True)),
        body=(*plan.before, total, *plan.after),
        launch_bounds="",
    )

"""Scalar replacement of a global accumulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from genome.analysis.effects import effects, element_type
from genome.conditions import sized
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Var, accesses, names, rewrite
from genome.ir.kernel import AtLeast, Condition, Kernel
from genome.ir.poly import poly
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import Assign, Body, Decl, If, Loop, Stmt, flatten, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal


class Promote:
    """``for k: C[i] += f(k);`` -> ``float acc = C[i]; for k: acc += f(k); C[i] = acc;``.

    Legal if the address does not change in the loop and nothing else in the loop may touch the element: every other
    access in the loop goes to another array, and those are known not to overlap (``assume.no_alias``) or are private.
    The update must stand under no condition: an element that the loop does not touch may not be there, or may be
    another thread's. A loop that may not run is guarded, on the host where its bounds are sizes, else in front.
    Source: Callahan, Carr and Kennedy, "Improving register allocation for subscripted variables", PLDI 1990.
    """

    name = "promote"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that a loop accumulates into."""
        found = dict.fromkeys(access.array for _, access in _accumulators(kernel))
        return tuple(Site(array, f"accumulator[{number}]") for number, array in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = [(loop, access) for loop, access in _accumulators(kernel) if access.array == site.label]
        if not found:
            return Refusal(f"no loop accumulates into {site.label}")
        for loop, access in found:
            seen = effects((loop,))
            needed = _needed(loop, access, _steady(kernel)) or ()
            if not all(sized(context.spec, condition) for condition in needed):
                return Refusal("an inner loop may not run, and the host cannot tell")
            if access.array in _bound_arrays(loop):
                return Refusal(f"the bounds of the loop over {loop.var} read {access.array}")
            if seen.opaque or seen.barriers or seen.calls:
                return Refusal("the loop holds a barrier, an atomic or a region that the engine does not see into")
            same = [a for a in (*seen.reads, *seen.stores) if a.array == access.array and a != access]
            if same:
                return Refusal(f"the loop also touches {access.array} at another address")
            pointers = {param.name for param in kernel.params if param.pointer}
            others = [a for a in (*seen.reads, *seen.stores) if a.array in pointers and a.array != access.array]
            if others and not context.assumptions.no_alias:
                return Refusal(f"{others[0].array} may overlap {access.array}", "assume.no_alias")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Moves the accumulation into a private variable around the outermost loop where it can stay."""
        ctype = element_type(kernel, site.label) or "float"
        while True:
            found = next(((lo, a) for lo, a in _accumulators(kernel) if a.array == site.label), None)
            if found is None:
                return kernel
            loop, access = found
            name = kernel.fresh(f"{site.label}_acc")
            kernel = kernel.require(*(_needed(loop, access, _steady(kernel)) or ()))
            guard = None
            if not loop.trip and sized(context.spec, _on_host(loop)):
                kernel = kernel.require(_on_host(loop))
            elif not loop.trip:
                guard = Binary("<", loop.lower, loop.upper)
            kernel = replace(kernel, body=map_stmts(kernel.body, _promoter(loop, access, name, ctype, guard)))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} is accumulated in a register and stored once"


def _on_host(loop: Loop) -> Condition:
    """That the loop is not empty, as the host can check it."""
    return AtLeast((poly(loop.upper) - poly(loop.lower)).to_expr(), 1)


def _steady(kernel: Kernel) -> frozenset[str]:
    """Scalar parameters that never change."""
    return frozenset(p.name for p in kernel.params if not p.pointer) - set(written_names(kernel.body))


def _bound_arrays(loop: Loop) -> set[str]:
    return {access.array for bound in (loop.lower, loop.upper) for access in accesses(bound)}


def _needed(loop: Loop, access: Index, steady: frozenset[str]) -> tuple[Condition, ...] | None:
    """What makes every iteration of the loop update the element: that inner loops over sizes are not empty; None if
    nothing does, as under a condition.
    """
    for stmt in loop.body:
        if isinstance(stmt, Assign) and stmt.target == access:
            return ()
        if isinstance(stmt, Loop):
            inner = _needed(stmt, access, steady)
            sizes = {*names(stmt.lower), *names(stmt.upper)} <= steady
            if inner is not None and (stmt.trip or (sizes and stmt.trip is None)):
                return inner if stmt.trip else (_on_host(stmt), *inner)
    return None


def _changing(loop: Loop) -> set[str]:
    """Names whose value may differ between iterations."""
    inside = list(flatten(loop.body))
    changing = {loop.var, *written_names(loop.body)}
    changing |= {stmt.name for stmt in inside if isinstance(stmt, Decl)}
    return changing | {stmt.var for stmt in inside if isinstance(stmt, Loop)}


def _promoter(loop: Loop, access: Index, name: str, ctype: str, guard: Expr | None) -> Callable[[Stmt], Body]:
    def visit(expr: Expr) -> Expr:
        return rewrite(expr, lambda node: Var(name) if node == access else node)

    def wrap(stmt: Stmt) -> Body:
        if stmt != loop:
            return (stmt,)
        inner = replace(loop, body=map_body(loop.body, visit))
        whole = (Decl(name, ctype, init=access), inner, Assign(access, Var(name)))
        return whole if guard is None else (If(guard, whole),)

    return wrap


def _accumulators(kernel: Kernel) -> list[tuple[Loop, Index]]:
    """(outermost loop in which the address is fixed, the element) of every update of a pointer parameter."""
    pointers = {param.name for param in kernel.params if param.pointer}
    found: list[tuple[Loop, Index]] = []
    for stmt in flatten(kernel.body):
        if not isinstance(stmt, Loop):
            continue
        changing = _changing(stmt)
        for inner in flatten(stmt.body):
            if not isinstance(inner, Assign) or not isinstance(inner.target, Index):
                continue
            target = inner.target
            fixed = not any(set(names(sub)) & changing for sub in target.subscripts)
            updates = inner.op != "=" or target in set(accesses(inner.value))
            sure = fixed and _needed(stmt, target, _steady(kernel)) is not None
            if target.array in pointers and sure and updates and not any(f[1] == target for f in found):
                found.append((stmt, target))
    return found

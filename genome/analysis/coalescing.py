"""How the threads of a warp touch memory in one execution of an access.

The index is differentiated along the lanes: the fastest launch dimension that has more than one thread. What the whole
warp agrees on drops out, whether it is affine or not, so that ``values[start[row] + lane]`` is contiguous.
"""

from __future__ import annotations

from genome.analysis.access import Coalescing, CoalescingClass, VariableKind
from genome.analysis.facts import Uniformity
from genome.analysis.proof import doubted, proven
from genome.analysis.scope import Scope
from genome.analysis.uniformity import Levels, agrees
from genome.ir.expr import Expr, Index, Var, walk
from genome.ir.poly import Poly, constant, poly

_WARP = 32


def coalescing(subscript: Expr, levels: Levels, line: int, width: int = 1) -> Coalescing:
    """The class of an access.

    Args:
        subscript: Its index in elements.
        levels: What threads agree on.
        line: Where it stands.
        width: Adjacent elements that the access moves at once.
    """
    scope = levels.scope
    found = lane_stride(subscript, levels)
    if isinstance(found, Poly):
        value = found.constant
        if value == 0:
            return Coalescing(
                CoalescingClass.BROADCAST, found, proven("the threads of a warp agree on the index", line)
            )
        kind = CoalescingClass.CONTIGUOUS if value in (width, -width) else CoalescingClass.STRIDED
        return Coalescing(kind, found, proven(f"the index is linear in {_shown(scope)}", line))
    loaded = scope.loads(subscript)
    kind = CoalescingClass.INDIRECT if loaded else CoalescingClass.IRREGULAR
    return Coalescing(kind, None, doubted(found, line))


def unknown_place(reason: str, line: int) -> Coalescing:
    """The class of an access whose index is not known."""
    return Coalescing(CoalescingClass.IRREGULAR, None, doubted(reason, line))


def lane_stride(expr: Expr, levels: Levels) -> Poly | str:
    """How much an integer expression grows from one lane to the next, or why that is not fixed."""
    scope = levels.scope
    total = Poly()
    for monomial, factor in poly(scope.resolve(expr)).terms:
        moving = [atom for atom in monomial if not agrees(levels.of(atom), Uniformity.WARP)]
        if not moving:
            continue
        rest = list(monomial)
        rest.remove(moving[0])
        slope = _slope(moving[0], levels)
        if isinstance(slope, str):
            return slope
        if len(moving) > 1 and slope.terms:
            return "it multiplies what differs between threads"
        total += slope * Poly(((tuple(rest), factor),))
    return Poly(total.terms)


def _slope(atom: Expr, levels: Levels) -> Poly | str:
    """How much one atom grows from lane to lane."""
    scope = levels.scope
    if isinstance(atom, Var) and atom.name in scope.loops:
        return lane_stride(scope.loops[atom.name].lower, levels)  # lanes are in the same iteration
    if isinstance(atom, Var) and atom.name in scope.kinds:
        return constant(1) if atom.name in lanes(scope) else Poly()
    if any(isinstance(node, Index) for node in walk(atom)) or scope.loads(atom):
        return "it depends on a loaded value"
    return levels.why(atom) if isinstance(atom, Var) else "it is not linear in what differs between threads"


def lanes(scope: Scope) -> frozenset[str]:
    """Variables that grow by one from a lane to the next: those of the fastest dimension with more than one thread."""
    block = scope.block or (_WARP, 1, 1)
    fast = next((dim for dim, extent in zip("xyz", block, strict=True) if extent > 1), "x")
    kernel = scope.kernel
    named = {axis.name for axis in kernel.axes if axis.dim == fast and scope.kinds.get(axis.name) is VariableKind.AXIS}
    first = {name for name, _ in kernel.threads[:1]}
    return frozenset(named | first | {f"threadIdx.{fast}"})


def _shown(scope: Scope) -> str:
    """The lane variable, and how many threads of a warp lie in one row of the block where not all do."""
    named = sorted(lanes(scope), key=lambda name: ("." in name, name))[0]
    row = next((extent for extent in scope.block or () if extent > 1), _WARP)
    return named if row >= _WARP else f"{named}, of which a warp has rows of {row}"

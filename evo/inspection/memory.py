"""Arguments, accesses and reuse of a kernel in figures: what a warp touches at a size of the campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod

from evo.inspection.facts import AccessView, ArgumentView, ReuseView
from evo.inspection.words import expression
from genome.analysis.access import Access, CoalescingClass, MemorySpace, VariableKind
from genome.analysis.count import Count
from genome.analysis.facts import KernelFacts
from genome.analysis.uses import ArrayUse, Use
from genome.ir.expr import Index
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, ProblemSize, Role

WARP = 32
SECTOR = 32
"""Bytes that an NVIDIA GPU moves at least between its L2 cache and a multiprocessor."""


def scalars(spec: KernelSpec, size: ProblemSize | None) -> dict[str, int]:
    """Integer parameters of the kernel at a size."""
    if size is None:
        return {}
    found: dict[str, int] = {}
    for arg in spec.args:
        if arg.is_scalar and "int" in arg.dtype:
            value = arg.value.evaluate(size.env) if isinstance(arg.value, SizeExpr) else arg.value
            found |= {} if value is None else {arg.name: int(value)}
    return found


def access_views(facts: KernelFacts, kernel: Kernel, spec: KernelSpec) -> tuple[AccessView, ...]:
    """Every access, with the sectors that a warp touches at the first size."""
    values = scalars(spec, spec.sizes[0] if spec.sizes else None)
    dims = {axis.name: axis.dim for axis in kernel.axes} | {f"threadIdx.{dim}": dim for dim in "xyz"}
    return tuple(_access(access, dims, spec.launch.block, values) for access in facts.accesses)


def _access(access: Access, dims: Mapping[str, str], block: Sequence[int], values: Mapping[str, int]) -> AccessView:
    how = access.coalescing
    offsets = _lane_offsets(access, dims, block, values)
    wide = access.element_bytes
    touched = {place // SECTOR for at in offsets or () for place in (at * wide, at * wide + wide - 1)}
    return AccessView(
        array=access.array,
        line=access.line,
        mode=access.mode.value,
        space=access.space.value,
        text=expression(Index(access.array, access.subscripts)) if access.subscripts else access.array,
        coalescing=how.kind.value if how else "",
        stride=expression(how.stride) if how and how.stride is not None else "",
        sectors=len(touched) or None,
        ideal_sectors=ceil(len(set(offsets)) * wide / SECTOR) if offsets else None,
        loops=access.loops,
        guards=tuple(("" if g.holds else "not ") + expression(g.condition) for g in access.guards),
        bytes_a_thread=expression(access.bytes_a_thread),
        proof=access.proof,
        coalescing_proof=how.proof if how else None,
    )


def _lane_offsets(
    access: Access, dims: Mapping[str, str], block: Sequence[int], values: Mapping[str, int]
) -> list[int] | None:
    """Elements at which the lanes of a full warp stand, relative to the first one; None where that is not known."""
    how = access.coalescing
    if access.space is not MemorySpace.GLOBAL or not access.element_bytes or how is None or how.stride is None:
        return None
    if how.kind in (CoalescingClass.INDIRECT, CoalescingClass.IRREGULAR):
        return None
    steps = {"x": _number(how.stride, values), "y": 0, "z": 0}
    lanes = min(WARP, prod(block))
    if block[0] % WARP and block[0] < lanes:  # the warp covers more than one row of the block
        if access.form is None:
            return None
        for term in access.form.terms:
            if term.kind in (VariableKind.AXIS, VariableKind.THREAD) and dims.get(term.variable, "x") != "x":
                steps[dims[term.variable]] = _number(term.coefficient, values)
    found = []
    for lane in range(lanes):
        place = {"x": lane % block[0], "y": lane // block[0] % block[1], "z": lane // (block[0] * block[1])}
        parts = [(place[dim], step) for dim, step in steps.items() if place[dim]]
        if any(step is None for _, step in parts):
            return None
        found.append(sum(at * step for at, step in parts if step is not None))
    return found


def _number(value: Poly, values: Mapping[str, int]) -> int | None:
    found = Count(value).at(values)
    return None if found is None else int(found)


def argument_views(
    kernel: Kernel, spec: KernelSpec, facts: KernelFacts, accesses: Sequence[AccessView]
) -> tuple[ArgumentView, ...]:
    """The parameters in the order of the signature."""
    unread = {region.line for region in facts.opaque}
    uses = {use.array: use for use in facts.uses}
    known = [access for access in accesses if access.line not in unread and access.space == MemorySpace.GLOBAL]
    made = []
    for param in kernel.params:
        arg = spec.arg(param.name)
        made.append(ArgumentView(
            name=param.name,
            type=param.ctype,
            array=param.pointer,
            use=_use(uses[param.name]) if param.name in uses else "value",
            extents=tuple(str(extent) for extent in arg.shape) if arg and param.pointer else (),
            accesses=tuple(access for access in known if access.array == param.name),
            role=(arg.role if arg else Role.IN).value,
        ))  # fmt: skip
    return tuple(made)


def _use(use: ArrayUse) -> str:
    ways = [name for name, how in (("read", use.read), ("written", use.written)) if how is Use.SOMEWHERE]
    text = "updated atomically" if use.updated is Use.SOMEWHERE else " and ".join(ways)
    if Use.MAYBE in (use.read, use.written, use.updated):
        return f"{text}, and used in text that is not read" if text else "used in text that is not read"
    return text or "not touched"


def reuse_views(facts: KernelFacts, spec: KernelSpec) -> tuple[ReuseView, ...]:
    """Reuse with the figure at the first size, the largest first."""
    values = scalars(spec, spec.sizes[0] if spec.sizes else None)
    made = []
    for reuse in facts.reuse:
        accesses = reuse.accesses.at(values)
        elements = reuse.elements.at(values) if reuse.elements is not None else None
        factor = float(accesses / elements) if accesses and elements else None
        made.append(ReuseView(
            reuse.array, reuse.lines, reuse.over, expression(reuse.accesses),
            expression(reuse.elements) if reuse.elements is not None else "", factor, reuse.proof,
        ))  # fmt: skip
    return tuple(sorted(made, key=lambda view: -(view.factor or 0.0)))

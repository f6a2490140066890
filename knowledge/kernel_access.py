"""Features of a kernel's global memory accesses: how neighbouring threads touch memory, and how much they compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from genome.analysis.access import Access, AccessMode, CoalescingClass, MemorySpace
from genome.analysis.collect import collect
from genome.analysis.scope import make_scope
from genome.analysis.uniformity import Levels
from genome.ir.expr import names
from genome.ir.kernel import Kernel
from knowledge.kernel_walk import DEPTH_WEIGHT, Visit, operations, scaled_log

ACCESS_CLASSES = ("broadcast", "unit", "strided", "loop", "indirect")
"""How neighbouring threads touch memory: all the same element, for ever (``broadcast``) or one that moves with a loop
(``loop``); elements next to each other (``unit``) or apart (``strided``); wherever a loaded value says (``indirect``).
"""
_NAMES = {
    CoalescingClass.CONTIGUOUS: "unit", CoalescingClass.STRIDED: "strided", CoalescingClass.IRREGULAR: "strided",
    CoalescingClass.INDIRECT: "indirect",
}  # fmt: skip
_UNKNOWN_BYTES = 4


def access_features(kernel: Kernel, visits: list[Visit]) -> dict[str, float]:
    """The entries of the kernel vector about loads, stores and intensity. An atomic is a load and a store."""
    accesses = [access for access in collect(Levels(make_scope(kernel)))
                if access.space is MemorySpace.GLOBAL and access.subscripts]  # fmt: skip
    loads = [access for access in accesses if access.mode is not AccessMode.WRITE]
    stores = [access for access in accesses if access.mode is not AccessMode.READ]
    places = {(load.array, load.subscripts): _shape(load) for load in loads}
    crowd = Counter(places.values())
    moved = sum(
        (access.element_bytes or _UNKNOWN_BYTES) * DEPTH_WEIGHT ** len(access.loops) for access in (*loads, *stores)
    )
    work = sum(operations(visit) for visit in visits)
    return {
        **_shares("loads", loads),
        **_shares("stores", stores),
        "loads": scaled_log(len(loads), 6),
        "stores": scaled_log(len(stores), 6),
        "neighbours": sum(crowd[shape] > 1 for shape in places.values()) / max(1, len(places)),
        "arithmetic": scaled_log(work, 16),
        "intensity": scaled_log(work / moved if moved else 0.0, 8),
    }


def _shares(name: str, accesses: Sequence[Access]) -> dict[str, float]:
    """The share of each class."""
    counts = Counter(_class_of(access) for access in accesses)
    return {f"{name}_{kind}": counts[kind] / max(1, len(accesses)) for kind in ACCESS_CLASSES}


def _class_of(access: Access) -> str:
    kind = access.coalescing.kind if access.coalescing is not None else CoalescingClass.IRREGULAR
    if kind is not CoalescingClass.BROADCAST:
        return _NAMES[kind]
    used = {name for part in access.subscripts for name in names(part)}
    return "loop" if used & set(access.loops) else "broadcast"


def _shape(access: Access) -> Hashable:
    """What accesses share that lie a fixed distance from each other."""
    return access.array, access.form.terms if access.form is not None else access.subscripts

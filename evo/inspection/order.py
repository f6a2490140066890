"""What must keep its order, told once for each loop and array."""

from __future__ import annotations

from dataclasses import dataclass

from evo.inspection.facts import BranchView, DependenceView, LoopView
from evo.inspection.record import Inspection
from evo.inspection.words import listed


@dataclass(frozen=True)
class Order:
    """Accesses that a rewrite must not exchange.

    Attributes:
        between: ``iterations of k`` or ``threads``.
        name: Array or scalar.
        lines: Where it is accessed.
        hazards: ``flow``, ``anti`` and ``output``, as far as there are any.
        reason: Why; where it is proven for one of them, why it is for that one.
        sure: False where it only cannot be excluded.
    """

    between: str
    name: str
    lines: tuple[int, ...]
    hazards: str
    reason: str
    sure: bool


def orders(seen: Inspection) -> tuple[Order, ...]:
    """The dependences of an inspection, those of a loop and a name together.

    A doubt about a loop whose iterations are shown to be independent by other means is none.
    """
    settled = {loop.site for loop in seen.loops if loop.independent.holds}
    groups: dict[tuple[str, str], list[DependenceView]] = {}
    for item in seen.dependences:
        if item.loop in settled and not item.proof.holds:
            continue
        groups.setdefault((item.loop, item.name), []).append(item)
    made = []
    for (loop, name), group in groups.items():
        telling = next((item for item in group if item.proof.holds), group[0])
        made.append(Order(
            between=f"iterations of {loop}" if loop else "threads",
            name=name,
            lines=tuple(sorted({line for item in group for line in item.lines})),
            hazards=listed(item.hazard for item in group),
            reason=telling.proof.reason,
            sure=telling.proof.holds,
        ))  # fmt: skip
    return tuple(made)


def carried(loop: LoopView, seen: Inspection) -> str:
    """Arrays through which the iterations of a loop certainly keep their order; empty where they only may have to.

    A scalar is left to the reason of the loop itself: one that each iteration adds to, or sets anew, orders nothing.
    """
    arrays = {access.array for access in seen.accesses}
    met = [d.name for d in seen.dependences if d.loop == loop.site and d.hazard == "flow" and d.proof.holds]
    names = [name for name in met if name in arrays and name not in loop.reductions]
    return f"they meet at {listed(names)}" if names else ""


def looped(branch: BranchView, seen: Inspection) -> str:
    """``the loop over k`` where a branch is the end of a loop that its line tells; else empty.

    Its condition is that of the loop's normal form, which often nobody wrote.
    """
    sites = [loop.site for loop in seen.loops if loop.line == branch.line] if branch.kind == "loop" else []
    return f"the loop over {sites[0]}" if len(sites) == 1 else ""

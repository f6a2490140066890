"""Elements of outputs that the untransformed kernel leaves alone: a stencil's border, or more than is meant. Pure.

Nothing is compared there, so that a person has to know of them; where nothing at all is left to compare, nothing can be
verified.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from evaluator.plan import output_args
from evaluator.standing import Oracle
from genome.spec import KernelSpec, ProblemSize, Role


@dataclass(frozen=True)
class Left:
    """How many elements of an output are left alone at a size (its label), of how many."""

    name: str
    size: str
    count: int
    total: int


def left_alone(spec: KernelSpec, size: ProblemSize, oracle: Oracle) -> tuple[Left, ...]:
    """What the baseline leaves unwritten with every input set, as two poisons show it: one entry an output."""
    found = []
    for arg in output_args(spec):
        expected = [outputs[arg.name] for outputs in oracle.expected]
        kept = [0 if item.written is None else int((~item.written).sum()) for item in expected]
        found.append(Left(arg.name, size.label, min(kept) if arg.role is Role.OUT else 0, expected[0].values.size))
    return tuple(found)


def nothing_written(found: Sequence[Left], referenced: bool) -> str:
    """Why there is nothing to verify; empty if there is something.

    Args:
        found: For every output at every size of the campaign.
        referenced: True if a reference says what outputs hold: it does so of each of them, then.
    """
    outputs = list(dict.fromkeys(left.name for left in found))
    silent = [name for name in outputs if all(left.count == left.total for left in found if left.name == name)]
    if not silent or (len(silent) < len(outputs) and not referenced):
        return ""
    return (
        f"the kernel as it is writes no element of {', '.join(silent)} at any size, so that nothing can be verified "
        "there: the launch covers none, no statement stores to it, or the kernel adds to what is there (`role: inout`)"
    )


def unwritten_remarks(found: Sequence[Left], labels: Collection[str]) -> tuple[str, ...]:
    """For each output that is not written as a whole, how much of it is not at the first of these sizes."""
    first: dict[str, Left] = {}
    for left in found:
        if left.count and left.size in labels:
            first.setdefault(left.name, left)
    return tuple(
        f"the kernel as it is leaves {left.count} of {left.total} elements of {left.name} unwritten at {left.size}: "
        "variants must leave them so, and what a reference says of them is not compared"
        for left in first.values()
    )

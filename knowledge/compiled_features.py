"""What the compiler said of a variant as a vector: columns of the model that decides what is timed."""

from __future__ import annotations

import math

from evaluator.result import INSTRUCTION_CLASSES, Resources

COMPILED_FEATURES = (
    "registers",  # of a thread
    "spills",  # log2(1 + bytes)
    "shared",  # log2(1 + bytes of a block)
    "private",  # log2(1 + bytes of a thread)
    "occupancy",  # 0..1
    "instructions",  # log2(1 + instructions in the machine code)
    *(f"share.{name}" for name in INSTRUCTION_CLASSES),  # of all instructions, 0..1
)
"""Names of the entries, in order. What a platform does not tell is 0 in all rows, and so no column at all."""


def compiled_features(resources: Resources) -> tuple[float, ...]:
    """The vector that ``COMPILED_FEATURES`` names."""
    mix = dict(resources.mix)
    total = sum(mix.values())
    return (
        float(resources.registers or 0),
        *(_log(amount) for amount in (resources.spills_bytes, resources.shared_bytes, resources.private_bytes)),
        resources.occupancy or 0.0,
        _log(total),
        *(mix.get(name, 0) / max(1, total) for name in INSTRUCTION_CLASSES),
    )


def _log(amount: int | None) -> float:
    return math.log2(1.0 + (amount or 0))

"""Oracle arrays on disk for the life of a session, so that a replaced process need not ask the reference again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from evaluator.correctness import Expected
from evaluator.inputs import SETS
from evaluator.plan import output_args
from genome.spec import KernelSpec, ProblemSize


def _folder(session: Path, spec: KernelSpec, size: ProblemSize) -> Path:
    sizes = (*spec.sizes, *spec.check_sizes)
    index = next(index for index, other in enumerate(sizes) if other.values == size.values)
    return session / "oracle" / str(index)


def save_oracle(
    session: Path, spec: KernelSpec, size: ProblemSize, sets: tuple[Mapping[str, Expected], ...], error: float
) -> None:
    """Writes what the outputs must be at a size, for each input set, and the baseline's own error."""
    folder = _folder(session, spec, size)
    folder.mkdir(parents=True, exist_ok=True)
    for which, outputs in enumerate(sets):
        for position, arg in enumerate(output_args(spec)):
            expected = outputs[arg.name]
            np.save(folder / f"{which}-{position}-values.npy", expected.values, allow_pickle=False)
            if expected.written is not None:
                np.save(folder / f"{which}-{position}-written.npy", expected.written, allow_pickle=False)
    (folder / "error.json").write_text(json.dumps(error))


def load_oracle(session: Path, spec: KernelSpec, size: ProblemSize) -> tuple[tuple[Mapping[str, Expected], ...], float]:
    """The inverse of ``save_oracle``; arrays are mapped, not copied."""
    folder = _folder(session, spec, size)
    sets = []
    for which in range(SETS):
        outputs = {}
        for position, arg in enumerate(output_args(spec)):
            values = np.load(folder / f"{which}-{position}-values.npy", mmap_mode="r", allow_pickle=False)
            mask = folder / f"{which}-{position}-written.npy"
            written = np.load(mask, mmap_mode="r", allow_pickle=False) if mask.exists() else None
            outputs[arg.name] = Expected(values, written, arg.extent(size.env))
        sets.append(outputs)
    return tuple(sets), float(json.loads((folder / "error.json").read_text()))

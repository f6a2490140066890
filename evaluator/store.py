"""Oracle arrays on disk for the life of a session, so that a replaced process need not ask the reference again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluator.correctness import Expected
from evaluator.inputs import Array
from evaluator.plan import output_args
from genome.spec import KernelSpec, ProblemSize


@dataclass(frozen=True)
class Oracle:
    """What the outputs must be at a size.

    Attributes:
        expected: By output name, one mapping for each input set.
        errors: The baseline's own error in each set, relative to the tolerance.
        exponent: Of the set of extreme magnitudes; 0 where there is none.
    """

    expected: tuple[Mapping[str, Expected], ...]
    errors: tuple[float, ...]
    exponent: int = 0


def _folder(session: Path, kind: str, size: ProblemSize) -> Path:
    return session / kind / hashlib.sha256(size.label.encode()).hexdigest()[:16]


def save_oracle(session: Path, spec: KernelSpec, size: ProblemSize, oracle: Oracle) -> None:
    """Writes the oracle of a size; what marks it as complete comes last."""
    folder = _folder(session, "oracle", size)
    folder.mkdir(parents=True, exist_ok=True)
    for which, outputs in enumerate(oracle.expected):
        for position, arg in enumerate(output_args(spec)):
            expected = outputs[arg.name]
            np.save(folder / f"{which}-{position}-values.npy", expected.values, allow_pickle=False)
            if expected.written is not None:
                np.save(folder / f"{which}-{position}-written.npy", expected.written, allow_pickle=False)
    (folder / "meta.json").write_text(json.dumps({"errors": oracle.errors, "exponent": oracle.exponent}))


def has_oracle(session: Path, size: ProblemSize) -> bool:
    """True if ``load_oracle`` would find one."""
    return (_folder(session, "oracle", size) / "meta.json").exists()


def load_oracle(session: Path, spec: KernelSpec, size: ProblemSize) -> Oracle:
    """The inverse of ``save_oracle``; arrays are mapped, not copied."""
    folder = _folder(session, "oracle", size)
    meta = json.loads((folder / "meta.json").read_text())
    sets = []
    for which in range(len(meta["errors"])):
        outputs = {}
        for position, arg in enumerate(output_args(spec)):
            values = np.load(folder / f"{which}-{position}-values.npy", mmap_mode="r", allow_pickle=False)
            mask = folder / f"{which}-{position}-written.npy"
            written = np.load(mask, mmap_mode="r", allow_pickle=False) if mask.exists() else None
            outputs[arg.name] = Expected(values, written, arg.extent(size.env))
        sets.append(outputs)
    return Oracle(tuple(sets), tuple(float(error) for error in meta["errors"]), int(meta["exponent"]))


def generated_file(session: Path, size: ProblemSize, name: str, which: int) -> Path:
    """Where a generated input is kept, so that every process of the session sees the same values."""
    return _folder(session, "inputs", size) / f"{which}-{name}.npy"


def save_generated(path: Path, values: Array) -> None:
    """Readers see a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part.npy")
    np.save(draft, values, allow_pickle=False)
    draft.replace(path)

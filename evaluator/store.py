"""Arrays on disk for the life of a session, which all of its processes map: inputs, a reference's answers, oracles.

A replaced process need not ask the reference again, and the processes of a proof need not draw inputs again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluator.elements import Array
from evaluator.plan import output_args
from evaluator.standing import Oracle, Standing
from evaluator.tolerance import Expected
from genome.spec import KernelSpec, ProblemSize

_LEAST_BYTES = 1 << 20  # smaller arrays are drawn again in less time than a file takes
_ROOM = 4  # an array is kept where the disk has room for that many of its size


def _folder(session: Path, kind: str, size: ProblemSize) -> Path:
    return session / kind / hashlib.sha256(size.label.encode()).hexdigest()[:16]


def save_oracle(session: Path, spec: KernelSpec, size: ProblemSize, oracle: Oracle) -> None:
    """Writes the oracle of a size; what marks it as complete comes last."""
    folder = _folder(session, "oracle", size)
    folder.mkdir(parents=True, exist_ok=True)
    spare: list[Path] = []
    for which, outputs in enumerate(oracle.expected):
        for position, arg in enumerate(output_args(spec)):
            expected = outputs[arg.name]
            values = folder / f"{which}-{position}.npy"
            if oracle.answered:
                spare.append(values)
            else:
                save_array(values, expected.values)
            if expected.written is not None:
                save_array(folder / f"{which}-{position}-written.npy", expected.written)
    _write_meta(folder, oracle)
    for values in spare:  # whoever has them mapped keeps them
        values.unlink(missing_ok=True)


def _write_meta(folder: Path, oracle: Oracle) -> None:
    meta = {
        "errors": oracle.errors,
        "exponent": oracle.exponent,
        "standing": oracle.standing.value,
        "answered": oracle.answered,
        "scales": [{name: expected.scale for name, expected in outputs.items()} for outputs in oracle.expected],
    }
    draft = folder / "meta.part"
    draft.write_text(json.dumps(meta))
    draft.replace(folder / "meta.json")


def has_oracle(session: Path, size: ProblemSize) -> bool:
    """True if ``load_oracle`` would find one."""
    return (_folder(session, "oracle", size) / "meta.json").exists()


def load_oracle(session: Path, spec: KernelSpec, size: ProblemSize) -> Oracle:
    """The inverse of ``save_oracle``; arrays are mapped, not copied."""
    folder, answers = _folder(session, "oracle", size), _folder(session, "answers", size)
    meta = json.loads((folder / "meta.json").read_text())
    sets = []
    for which, scales in enumerate(meta["scales"]):
        outputs = {}
        for position, arg in enumerate(output_args(spec)):
            values = _mapped((answers if meta["answered"] else folder) / f"{which}-{position}.npy")
            mask = folder / f"{which}-{position}-written.npy"
            written = _mapped(mask) if mask.exists() else None
            outputs[arg.name] = Expected(values, written, arg.extent(size.env), scales[arg.name], arg.dtype)
        sets.append(outputs)
    errors = tuple(float(error) for error in meta["errors"])
    return Oracle(tuple(sets), errors, int(meta["exponent"]), Standing(meta["standing"]), bool(meta["answered"]))


def give_up_answer(session: Path, spec: KernelSpec, size: ProblemSize) -> None:
    """Marks the oracle of a size as one that no reference has seen."""
    oracle = load_oracle(session, spec, size)
    _write_meta(_folder(session, "oracle", size), replace(oracle, standing=Standing.MISSING))


def save_answer(session: Path, spec: KernelSpec, size: ProblemSize, which: int, answer: Mapping[str, Array]) -> None:
    """Keeps what a reference gave for an input set; the last file marks it as complete."""
    folder = _folder(session, "answers", size)
    folder.mkdir(parents=True, exist_ok=True)
    for position, arg in enumerate(output_args(spec)):
        save_array(folder / f"{which}-{position}.npy", answer[arg.name])
    (folder / f"{which}.done").touch()


def load_answer(session: Path, spec: KernelSpec, size: ProblemSize, which: int) -> dict[str, Array] | None:
    """The inverse of ``save_answer``, mapped; None while it is not there."""
    folder = _folder(session, "answers", size)
    if not (folder / f"{which}.done").exists():
        return None
    return {arg.name: _mapped(folder / f"{which}-{number}.npy") for number, arg in enumerate(output_args(spec))}


def forget_answers(session: Path) -> None:
    """Removes all answers: other inputs are used from now on."""
    shutil.rmtree(session / "answers", ignore_errors=True)


def input_file(session: Path, size: ProblemSize, name: str, which: int, kind: str = "inputs") -> Path:
    """Where an input of a set is kept, so that every process of the session sees the same values."""
    return _folder(session, kind, size) / f"{which}-{name}.npy"


def kept(path: Path, nbytes: int, make: Callable[[], Array]) -> Array:
    """An array from its file, mapped; made by the first process that asks for it, while the others wait.

    Small arrays, and those that the disk has no room for, are made by every process.
    """
    if path.exists():
        return _mapped(path)
    if nbytes < _LEAST_BYTES:
        return make()
    path.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < _ROOM * nbytes:
        return make()
    with path.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            values = make()
            try:
                save_array(path, values)
            except OSError:  # another process took the room meanwhile
                return values
    return _mapped(path)


def save_array(path: Path, values: Array) -> None:
    """Readers see a whole file or none, and whoever has the old one mapped (``values`` may be it) keeps it.

    Raises:
        OSError: If it cannot be written; nothing is left of it then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part.npy")
    try:
        np.save(draft, values, allow_pickle=False)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    draft.replace(path)


def _mapped(path: Path) -> Array:
    array: Array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    return array

"""The campaign file that a call of ``evo.tune`` stands for: the one it names, or one written from what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evo.inline_reference import Names, reference_file
from evo.report.files import write_atomic
from evo.tuned import TuneError


def campaign_file(
    kernel: str | Path, spec: Mapping[str, Any] | None, reference: Callable[..., Any] | str | None, entry: str,
    output: str | Path | None,
) -> Path:  # fmt: skip
    """The campaign's file: the one that was given, or one written from a spec.

    Raises:
        TuneError: If neither is to be had.
        UnwrittenError: If the reference cannot be written out.
        OSError: If the folder cannot be written.
    """
    is_source = isinstance(kernel, str) and "__global__" in kernel
    if not is_source and Path(kernel).suffix in (".yaml", ".yml"):
        if spec is not None or reference is not None:
            raise TuneError(
                f"{kernel}: a campaign file says everything; give `spec` and `reference` with a kernel alone"
            )
        return Path(kernel)
    if not is_source and Path(kernel).suffix not in (".cu", ".cuh"):
        raise TuneError(f"{kernel}: expected a campaign file (.yaml), a .cu file, or source with `__global__` in it")
    if spec is None:
        raise TuneError("spec: missing; give `arguments`, `launch` and `sizes` as a campaign file would "
                        "(`evo-tune init kernel.cu` writes one from the kernel's own signature)")  # fmt: skip
    folder = Path(output or "evo-out")
    fields = _fields(spec, "spec")
    described = fields.pop("kernel", {})
    if not isinstance(described, dict):
        raise TuneError("spec: kernel: expected fields such as `defines`")
    described |= {"source": "kernel.cu" if is_source else str(Path(kernel).resolve())}
    described |= {"entry": entry} if entry else {}
    if callable(reference):
        text, name = reference_file(reference, _names(fields))
        write_atomic(folder / "reference.py", text)
        fields["reference"] = f"reference.py:{name}"
    elif reference is not None:
        path, _, name = reference.rpartition(":")
        fields["reference"] = f"{Path(path).resolve()}:{name}"
    if is_source:
        write_atomic(folder / "kernel.cu", str(kernel))
    whole = {"version": 1, "kernel": described, **fields, "output": "."}
    write_atomic(folder / "campaign.yaml", yaml.safe_dump(whole, sort_keys=False))
    return folder / "campaign.yaml"


def _names(fields: Mapping[str, Any]) -> Names:
    """What a reference may ask for, as far as the fields say."""
    arguments = [a for a in _list(fields, "arguments") if isinstance(a, dict) and "name" in a]
    read = [str(a["name"]) for a in arguments if "shape" in a and a.get("role", "in") != "out"]
    sizes = [name for size in _list(fields, "sizes") if isinstance(size, dict) for name in size if name != "weight"]
    scalars = [str(a["name"]) for a in arguments if "shape" not in a]
    return Names(tuple(read), tuple(scalars), tuple(dict.fromkeys(sizes)))


def _list(fields: Mapping[str, Any], name: str) -> list[Any]:
    found = fields.get(name)
    return found if isinstance(found, list) else []


def _fields(value: Any, where: str) -> Any:
    """Plain data of a spec: what YAML can hold.

    Raises:
        TuneError: At anything else.
    """
    if isinstance(value, Mapping):
        return {str(key): _fields(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_fields(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TuneError(f"{where}: expected text, a number, a list or a mapping, got {type(value).__name__}")

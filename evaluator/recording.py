"""Recorded search spaces: every configuration of a kernel's parameters with the time that somebody once measured.

Three formats are read, plain or compressed (``.gz``, ``.xz``): Kernel Tuner's cache files, the T4 results format of the
autotuning community (https://github.com/odgaard/TuningSchema), and tables ``{"params": {name: values}, "rows": [[values
..., status, time, ...]]}``.
"""

from __future__ import annotations

import gzip
import json
import lzma
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_MS, MOST_MS = 1e-9, 1e12
"""Shorter or longer is no time: tuners write such numbers (1e20, say) for a failure."""
OPENERS = {".gz": gzip.open, ".xz": lzma.open}
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error, UnicodeDecodeError)
"""What opening or reading a file of those raises where it is damaged or cut off."""


class RecordingError(ValueError):
    """A file that is no recording, with what is wrong and where."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A space of named parameters and what was measured in it.

    Attributes:
        kernel, device: As the file names them.
        names: Parameters of more than one value, in the file's order.
        values: The values of each, as text, in the order in which they first appear.
        table: Index of each parameter's value, shape (configurations, parameters).
        times_ms: Milliseconds of each configuration, shape (configurations,); NaN where it failed.
        failures: What the file says of a failure; empty where there was none.
        problem_size: Extents of the problem; empty where the file does not tell.
        constants: (name, value) of the parameters that have one value only.
    """

    kernel: str
    device: str
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    table: NDArray[np.int32]
    times_ms: NDArray[np.float64]
    failures: tuple[str, ...]
    problem_size: tuple[int, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.times_ms)

    @property
    def best_ms(self) -> float:
        """The shortest time."""
        return float(np.nanmin(self.times_ms))

    @cached_property
    def rows(self) -> Mapping[tuple[int, ...], int]:
        """Row by value indices."""
        return {tuple(map(int, line)): row for row, line in enumerate(self.table)}

    def configuration(self, row: int) -> dict[str, str]:
        """Values by parameter name."""
        return {name: self.values[k][self.table[row, k]] for k, name in enumerate(self.names)}


def read_recording(path: Path) -> Recording:
    """Reads a recorded space.

    Raises:
        RecordingError: If the file cannot be read, is cut off, or is none of the known formats.
    """
    return parse_recording(read_json(path), path)


def parse_recording(data: Any, path: Path) -> Recording:
    """The recorded space in the JSON data of a file.

    Raises:
        RecordingError: If it is none of the known formats.
    """
    if not isinstance(data, dict):
        raise RecordingError(f"{path}: expected a JSON object, got {type(data).__name__}")
    try:
        if "rows" in data and "params" in data:
            return _from_table(data)
        if "cache" in data:
            return _from_kernel_tuner(data)
        if "results" in data:
            return _from_t4(data)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise RecordingError(f"{path}: not as its format says: {type(error).__name__}: {error}") from None
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}") from None
    known = "'cache' (Kernel Tuner), 'results' (T4) or 'params' and 'rows'"
    raise RecordingError(f"{path}: expected {known}, got the fields {', '.join(map(str, data)) or 'none'}")


def read_json(path: Path) -> Any:
    """The data of a JSON file, compressed or not.

    Raises:
        RecordingError: If it cannot be read, is cut off, or is no JSON; with the position.
    """
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:  # type: ignore[operator]
            return json.loads(file.read())
    except json.JSONDecodeError as error:
        raise RecordingError(f"{path}:{error.lineno}:{error.colno}: no valid JSON: {error.msg}") from None
    except (*UNREADABLE, ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: cannot be read: {error}") from None


def _from_table(data: Mapping[str, Any]) -> Recording:
    names = list(data["params"])
    lines: list[tuple[Sequence[Any], Any, str]] = []
    for number, row in enumerate(data["rows"]):
        if not isinstance(row, list) or len(row) < len(names) + 2:
            raise RecordingError(f"rows[{number}]: expected {len(names)} values, a status and a time")
        status = row[len(names)]
        lines.append((row[: len(names)], row[len(names) + 1], "" if status == "ok" else str(status)))
    size = _extents(data.get("problem_size"))
    return recording_of(str(data.get("kernel") or ""), str(data.get("device") or ""), names, lines, size)


def _from_kernel_tuner(data: Mapping[str, Any]) -> Recording:
    names = list(data["tune_params_keys"])
    lines = []
    for entry in data["cache"].values():
        time = entry["time"]
        failure = time if isinstance(time, str) else str(entry.get("__error__", ""))
        lines.append(([entry[name] for name in names], time, failure))
    size = _extents(data.get("problem_size"))
    return recording_of(str(data.get("kernel_name") or ""), str(data.get("device_name") or ""), names, lines, size)


def _from_t4(data: Mapping[str, Any]) -> Recording:
    names = list(data["results"][0]["configuration"]) if data["results"] else []
    lines = []
    for result in data["results"]:
        valid = result.get("invalidity", "correct") == "correct"
        times = [m["value"] for m in result.get("measurements", ()) if m.get("name") in ("time", "runtimes", "runtime")]
        failure = "" if valid and times else str(result.get("invalidity") or "no time")
        lines.append(([result["configuration"][name] for name in names], times[0] if times else None, failure))
    metadata = data.get("metadata") or {}
    size = _extents(metadata.get("problem_size"))
    return recording_of(str(metadata.get("kernel") or ""), str(metadata.get("device") or ""), names, lines, size)


def _extents(value: Any) -> tuple[int, ...]:
    """Whole positive numbers, one or a list of them; nothing for anything else (an expression of parameters, say)."""
    items = value if isinstance(value, list) else [value]
    whole = [item for item in items if isinstance(item, int) and not isinstance(item, bool) and item > 0]
    return tuple(whole) if len(whole) == len(items) else ()


def recording_of(
    kernel: str,
    device: str,
    names: Sequence[str],
    lines: Iterable[tuple[Sequence[Any], Any, str]],
    problem_size: tuple[int, ...] = (),
) -> Recording:
    """A space from its lines: (values in the order of the names, time in ms, what failed). Repeated lines are left out.

    Raises:
        RecordingError: If names cannot be told apart, nothing in it has a time, or no parameter varies.
    """
    _check_names(names)
    seen: list[dict[str, int]] = [{} for _ in names]
    rows: dict[tuple[int, ...], tuple[float, str]] = {}
    for values, time, failure in lines:
        key = tuple(known.setdefault(_text(value), len(known)) for known, value in zip(seen, values, strict=True))
        good = not failure and _is_time(time)
        rows.setdefault(key, (float(time), "") if good else (math.nan, failure or f"a time of {str(time)[:40]}"))
    if not any(math.isfinite(time) for time, _ in rows.values()):
        raise RecordingError("no configuration has a time")
    kept = [k for k, known in enumerate(seen) if len(known) > 1]
    if not kept:
        raise RecordingError("no parameter has more than one value")
    return Recording(
        _writable(kernel),
        _writable(device),
        tuple(_writable(names[k]) for k in kept),
        tuple(tuple(seen[k]) for k in kept),
        np.array(list(rows), dtype=np.int32)[:, kept],
        np.array([time for time, _ in rows.values()]),
        tuple(_writable(failure) for _, failure in rows.values()),
        problem_size,
        tuple((_writable(name), next(iter(known))) for name, known in zip(names, seen, strict=True) if len(known) == 1),
    )


def _check_names(names: Sequence[Any]) -> None:
    for name in names:
        if not isinstance(name, str) or not name or "=" in name:
            raise RecordingError(f"expected names of parameters, with no '=' in them (values follow it), got {name!r}")
    if len(set(names)) < len(names):
        raise RecordingError(f"expected each parameter once, got {', '.join(names)}")


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and LEAST_MS <= value <= MOST_MS


def _text(value: Any) -> str:
    """A value as a macro would have it; 1 and 1.0 stay apart, true is 1."""
    return str(int(value)) if isinstance(value, bool) else _writable(str(value))


def _writable(text: str) -> str:
    """The text without halves of characters, which JSON can hold and no file."""
    return text.encode("utf-8", "replace").decode("utf-8")


def times_elsewhere(recording: Recording, other: Recording) -> NDArray[np.float64]:
    """Times of another recording at the configurations of this one, shape (configurations,); NaN where it has none.

    Parameters that only one of the two varies are left out of the comparison; with none in common there are no times.
    """
    shared = [name for name in recording.names if name in other.names]
    if not shared:
        return np.full(len(recording), math.nan)
    own = [recording.names.index(name) for name in shared]
    theirs = [other.names.index(name) for name in shared]
    known: dict[tuple[str, ...], float] = {}
    for row, time in enumerate(other.times_ms):
        known.setdefault(tuple(other.values[k][other.table[row, k]] for k in theirs), float(time))
    keys = (tuple(recording.values[k][line[k]] for k in own) for line in recording.table)
    return np.array([known.get(key, math.nan) for key in keys])

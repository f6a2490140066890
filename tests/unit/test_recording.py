"""Recorded spaces: three formats tell the same, and a file that is none is refused with its place."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.recording import Recording, RecordingError, read_recording, recording_of, times_elsewhere

TILES = Path(__file__).parents[1] / "data" / "spaces" / "tiles.json"
NAMES = ("block_size_x", "block_size_y", "tile", "mode")


def kernel_tuner() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TILES.read_text())
    return found


def as_t4(data: dict[str, Any]) -> dict[str, Any]:
    results = []
    for entry in data["cache"].values():
        failed = isinstance(entry["time"], str)
        measurements = [] if failed else [{"name": "time", "value": entry["time"], "unit": "ms"}]
        results.append({"configuration": {name: entry[name] for name in NAMES},
                        "invalidity": "runtime" if failed else "correct", "measurements": measurements})  # fmt: skip
    return {"schema_version": "1.0.0", "results": results}


def as_table(data: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for entry in data["cache"].values():
        failed = isinstance(entry["time"], str)
        status, time = (entry["time"], None) if failed else ("ok", entry["time"])
        rows.append([*(entry[name] for name in NAMES), status, time])
    params = {name: sorted({str(row[k]) for row in rows}) for k, name in enumerate(NAMES)}
    return {"params": params, "rows": rows, "kernel": "tiles", "device": "Made-up GPU"}


def told(recording: Recording) -> dict[tuple[tuple[str, str], ...], float | None]:
    times = [None if math.isnan(time) else float(time) for time in recording.times_ms]
    return {tuple(sorted(recording.configuration(row).items())): time for row, time in enumerate(times)}


def test_a_cache_file_is_read_as_it_stands() -> None:
    recording = read_recording(TILES)
    assert (recording.kernel, recording.device, recording.names) == ("tiles", "Made-up GPU", NAMES)
    expected = {
        tuple(sorted((name, str(entry[name])) for name in NAMES)): None
        if isinstance(entry["time"], str)
        else entry["time"]
        for entry in kernel_tuner()["cache"].values()
    }
    assert told(recording) == expected
    assert recording.best_ms == min(time for time in expected.values() if time is not None)
    assert all(
        bool(text) == math.isnan(time) for text, time in zip(recording.failures, recording.times_ms, strict=True)
    )


def test_formats_and_compressions_tell_the_same(tmp_path: Path) -> None:
    data, expected = kernel_tuner(), told(read_recording(TILES))
    for number, form in enumerate((data, as_t4(data), as_table(data))):
        text = json.dumps(form).encode()
        for name, packed in (("a.json", text), ("a.json.gz", gzip.compress(text)), ("a.json.xz", lzma.compress(text))):
            file = tmp_path / f"{number}{name}"
            file.write_bytes(packed)
            assert told(read_recording(file)) == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"cache": {', ":1:12: no valid JSON"),
        ("[1, 2]", "expected a JSON object"),
        ('{"a": 1}', "got the fields a"),
        ('{"cache": {"1": {"x": 1}}, "tune_params_keys": ["x"]}', "KeyError: 'time'"),
        ('{"params": {"x": [1, 2]}, "rows": [[1, "ok", 2.0], [2]]}', "rows[1]: expected 1 values, a status and a time"),
        ('{"params": {"x": [1, 2]}, "rows": [[1, "bad", 2.0], [2, "bad", 1.0]]}', "no configuration has a time"),
        ('{"params": {"x": [1]}, "rows": [[1, "ok", 2.0]]}', "no parameter has more than one value"),
        ('{"results": []}', "no configuration has a time"),
        ('{"params": {"x": [1, 2]}, "rows": [[1, "ok", true], [2, "ok", 0]]}', "no configuration has a time"),
        ('{"params": {"x=1": [1, 2]}, "rows": [[1, "ok", 2.0], [2, "ok", 1.0]]}', "no '=' in them"),
        ('{"params": [7], "rows": [[1, "ok", 2.0], [2, "ok", 1.0]]}', "expected names of parameters"),
        ('{"params": ["x", "x"], "rows": [[1, 1, "ok", 2.0], [2, 1, "ok", 1.0]]}', "each parameter once, got x, x"),
        ("[" * 100_000, "cannot be read"),
        ('{"params": {"x": [1]}, "rows": [[1, "ok", ' + "9" * 5000 + "]]}", "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_refused_with_its_place(text: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "space.json"
    file.write_text(text)
    with pytest.raises(RecordingError) as error:
        read_recording(file)
    assert str(file) in str(error.value) and wanted in str(error.value)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    whole = lzma.compress(TILES.read_bytes())
    for kept in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "space.json.xz").write_bytes(whole[:kept])
        with pytest.raises(RecordingError):
            read_recording(tmp_path / "space.json.xz")
    with pytest.raises(RecordingError, match="cannot be read"):
        read_recording(tmp_path / "none.json")


def test_bytes_that_changed_on_the_way_are_refused(tmp_path: Path) -> None:
    whole = gzip.compress(TILES.read_bytes())
    changed = [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(10, len(whole) - 8, 11)]
    for data in changed:
        (tmp_path / "space.json.gz").write_bytes(data)
        with pytest.raises(RecordingError):
            read_recording(tmp_path / "space.json.gz")
    with pytest.raises(zlib.error):  # the kind that no OSError is was among them
        for data in changed:
            try:
                gzip.decompress(data)
            except (OSError, EOFError):
                continue


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "space.json").write_text(TILES.read_text(), encoding="utf-8-sig")
    assert told(read_recording(tmp_path / "space.json")) == told(read_recording(TILES))


@pytest.mark.parametrize("time", [0, -1.0, math.nan, math.inf, 1e20, 1e308, 1e-308, 10**400, True, None, "1.0", [1.0]])
def test_what_no_kernel_can_have_taken_counts_as_a_failure(time: Any) -> None:
    recording = recording_of("k", "d", ["x"], [((1,), 2.0, ""), ((2,), time, "")])
    assert np.isnan(recording.times_ms).tolist() == [False, True]
    assert recording.failures[0] == "" and recording.failures[1].startswith("a time of ")


def test_a_parameter_may_have_a_hundred_thousand_values() -> None:
    recording = recording_of("k", "d", ["x"], [((value,), 1.0 + value, "") for value in range(100_000)])
    assert recording.configuration(99_999) == {"x": "99999"}
    assert recording.rows[(99_999,)] == 99_999


def test_times_of_another_recording_are_found_by_their_parameters(tmp_path: Path) -> None:
    data = kernel_tuner()
    entries = list(data["cache"].items())
    other = {**data, "cache": {key: {**entry, "more": 1} for key, entry in reversed(entries[5:])},
             "tune_params_keys": [*reversed(NAMES), "more"]}  # fmt: skip
    (tmp_path / "other.json").write_text(json.dumps(other))
    here = read_recording(TILES)
    times = times_elsewhere(here, read_recording(tmp_path / "other.json"))
    assert np.isnan(times[:5]).all()
    assert np.array_equal(times[5:], here.times_ms[5:], equal_nan=True)


def test_a_recording_of_other_parameters_tells_nothing() -> None:
    other = recording_of("k", "d", ["x"], [((1,), 2.0, ""), ((2,), 1.0, "")])
    assert np.isnan(times_elsewhere(read_recording(TILES), other)).all()


def test_half_a_character_is_replaced_wherever_it_stands() -> None:
    half = "a\ud800"
    recording = recording_of(half, half, [half], [((half,), 2.0, ""), (("b",), None, half)])
    texts = (recording.kernel, recording.device, *recording.names, *recording.values[0], *recording.failures)
    assert "a?" in recording.names and all(text.encode() is not None for text in texts)

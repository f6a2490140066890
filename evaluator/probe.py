"""A short-lived process that measures a device's peaks: a broken driver takes only this process down."""

from __future__ import annotations

from pathlib import Path

from evaluator.backend import BackendFailure, DeviceFacts, Peaks
from evaluator.devices import environment_of, open_backend
from evaluator.process import Child, ChildDied, attach
from evaluator.profile import peaks_file, read_peaks, write_peaks

_DEADLINE_S = 60.0


def peaks_of(facts: DeviceFacts, cache_dir: Path, session: Path) -> Peaks:
    """Peaks of a device: from the cache, else measured now (a second). Unknown peaks are zeros, never an error."""
    path = peaks_file(cache_dir, facts.info, facts.toolchain)
    known = read_peaks(path)
    if known is not None:
        return known
    child = Child("evaluator.probe", session / "probe.log", environment_of(facts.info, session))
    try:
        child.send(facts.info.id)
        peaks = child.receive(_DEADLINE_S)
    except ChildDied:
        return Peaks()
    finally:
        child.kill()
    if not isinstance(peaks, Peaks):
        return Peaks()
    write_peaks(path, peaks, facts.info)
    return peaks


def main() -> None:
    """Answers a device id with its peaks, or with None."""
    connection = attach()
    device: str = connection.recv()
    try:
        connection.send(open_backend(device).measure_peaks())
    except BackendFailure:
        connection.send(None)


if __name__ == "__main__":
    main()

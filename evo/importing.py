"""Files into the knowledge base: recorded search spaces, published parameters, other bases and results of runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.recording import Recording, RecordingError, parse_recording, read_json
from evo.campaign_types import CampaignError
from evo.recorded_import import recorded_campaign, recorded_size, recording_token
from evo.run_import import run_campaign
from knowledge.joining import is_base
from knowledge.published import is_published, parse_published
from knowledge.store import KnowledgeBase


@dataclass(frozen=True)
class Imported:
    """What came of one file.

    Attributes:
        what: ``recording``, ``published``, ``base`` or ``run``.
        kernel, device, size: Where there is one of it.
        rows: Measurements (or parameters, or rows of any table) in it.
        fresh: Those among them that the base did not have.
        best_ms: Shortest time in it.
    """

    file: str
    what: str
    kernel: str
    device: str
    size: str
    rows: int
    fresh: int
    best_ms: float | None = None


def import_file(
    base: KnowledgeBase, path: Path, kernel: str | None = None, device: str | None = None, version: str = ""
) -> Imported:
    """Imports a file (or the folder of a run) in one transaction: all of it, or nothing.

    Args:
        base: Where to.
        path: A file, ``.gz`` and ``.xz`` included.
        kernel: Name that replaces what a recording says, or says what it does not.
        device: Likewise.
        version: Of evo-tune.

    Raises:
        CampaignError, KnowledgeError: If it cannot be read, or is nothing that could be imported; with the position.
    """
    if path.is_dir():
        return _run(base, path / "best.json", version)
    if is_base(path):
        rows, fresh = base.join(path)
        return Imported(str(path), "base", "", "", "", rows, fresh)
    try:
        data = read_json(path)
        if is_published(data):
            return _published(base, data, path)
        if isinstance(data, dict) and "campaign_file" in data:
            return _run(base, path, version)
        recording = parse_recording(data, path)
    except RecordingError as error:
        raise CampaignError(str(error)) from None
    return _recording(base, _named(recording, kernel, device), path, version)


def _named(recording: Recording, kernel: str | None, device: str | None) -> Recording:
    return replace(recording, kernel=kernel or recording.kernel, device=device or recording.device)


def _recording(base: KnowledgeBase, recording: Recording, path: Path, version: str) -> Imported:
    if not recording.device:
        raise CampaignError(f"{path}: does not tell its device; name it with --device")
    name = recording.kernel or path.name.partition(".")[0]
    record, outcomes = recorded_campaign(recording, name, version)
    stored = base.record_all(recording_token(recording, name), record, outcomes, {"imported": path.name})
    size = recorded_size(recording).label
    return Imported(str(path), "recording", record.kernel.name, recording.device, size, len(recording), stored.fresh,
                    recording.best_ms)  # fmt: skip


def _published(base: KnowledgeBase, data: Any, path: Path) -> Imported:
    items = parse_published(data, path)
    return Imported(str(path), "published", "", "", "", len(items), base.recommend(items))


def _run(base: KnowledgeBase, path: Path, version: str) -> Imported:
    token, record, outcomes = run_campaign(path, version)
    stored = base.record_all(token, record, outcomes, {"imported": str(path)})
    rows = sum(len(outcome.evaluations) for outcome in outcomes)
    sizes = ";".join(label for label, _ in record.kernel.sizes)
    return Imported(str(path), "run", record.kernel.name, record.device.name, sizes, rows, stored.fresh)

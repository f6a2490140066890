"""The recorded spaces of a study, by kernel and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.recording import RecordingError, read_recording
from evo.campaign_paths import existing_file
from evo.campaign_replay import PREFIX
from evo.campaign_yaml import Document, FieldPath
from evo.portability.case import Place
from evo.portability.recorded_case import Source
from evo.portability.study_model import DeviceModel, KernelModel, StudyModel
from evo.recorded_import import recorded_size


@dataclass(frozen=True, eq=False)
class RecordedKernel:
    """A kernel at one size with the recordings of it."""

    name: str
    size: str
    sources: tuple[Source, ...]
    work: Work | None


def recorded_kernels(model: StudyModel, document: Document) -> tuple[RecordedKernel, ...]:
    """Recordings by kernel and size, in the order of the file.

    Raises:
        CampaignError: If one cannot be read, or does not fit in.
    """
    kernels = [item for item in model.kernels if item.campaign is None]
    groups: dict[tuple[str, str], list[Source]] = {}
    for number, item in enumerate(model.devices):
        if not item.device.startswith(PREFIX):
            continue
        source, name = _source(item, number, document)
        kernel = _kernel_of(name, kernels, document, number)
        group = groups.setdefault((kernel, recorded_size(source.recording).label), [])
        if any(other.place.name == source.place.name for other in group):
            raise document.error(("devices", number), f"{kernel} on {source.place.name} is there already; keep one, or "
                                                      "tell them apart with `name:`")  # fmt: skip
        group.append(source)
    works = {item.name: Work(item.work.flops, item.work.bytes) for item in kernels if item.work is not None}
    for number, wanted in enumerate(model.kernels):
        if wanted.campaign is None and wanted.name not in {name for name, _ in groups}:
            raise document.error(("kernels", number), f"no recording is of '{wanted.name}'; {_recordings(groups)}")
    return tuple(
        RecordedKernel(name, size, tuple(sources), works.get(name)) for (name, size), sources in groups.items()
    )


def _recordings(groups: dict[tuple[str, str], list[Source]]) -> str:
    names = sorted({name for name, _ in groups})
    return f"recorded are: {', '.join(names)}" if names else f"name some as {PREFIX}FILE among the devices"


def _source(item: DeviceModel, number: int, document: Document) -> tuple[Source, str]:
    """The recording, and the name of its kernel."""
    where: FieldPath = ("devices", number, "device")
    file = existing_file(document, item.device.removeprefix(PREFIX), where)
    try:
        recording = read_recording(file)
    except RecordingError as error:
        raise document.error(where, str(error)) from None
    for name in item.fixed:
        if name in recording.names or name in dict(recording.constants):
            raise document.error(("devices", number, "fixed", name), "the recording tells it itself; leave it out")
    peaks = Peaks(item.peaks.bandwidth_gbs, item.peaks.gflops) if item.peaks else Peaks()
    name = item.name or recording.device or file.name.partition(".")[0]
    column = Place(name, peaks, item.units or 0, item.shared_bytes or 0)
    return Source(column, recording, tuple(item.fixed.items())), item.kernel or recording.kernel


def _kernel_of(name: str, kernels: Sequence[KernelModel], document: Document, number: int) -> str:
    """The kernel of the study that a recording is of: its very name, or that with a remark in parentheses."""
    if not name:
        raise document.error(("devices", number), "its recording names no kernel; add `kernel: NAME`")
    plain = name.partition(" (")[0]
    names = [item.name for item in kernels if item.name is not None]
    if not names:
        return plain
    for known in (name, plain):
        if known in names:
            return known
    raise document.error(("devices", number), f"is a recording of '{name}', which `kernels:` does not name; add it")

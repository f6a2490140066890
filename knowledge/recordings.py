"""Recorded spaces as the base gives them back: the experience of other devices with the same parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from evaluator.recording import Recording, RecordingError, recording_of
from evaluator.result import DeviceInfo, Status
from knowledge import decode, encode, schema

_DEFINED = "-D"


def recordings(connection: Connection, kernel: str, besides: DeviceInfo) -> tuple[Recording, ...]:
    """Configurations of a kernel without a source and their times, one recording a device and size, the larger first.

    A configuration that was measured several times has the time of the newest. What nobody timed is left out.

    Args:
        connection: Of the caller.
        kernel: Name, exact.
        besides: A device that is left out.
    """
    evaluation, variant, hardware = schema.evaluation, schema.variant, schema.hardware
    rows = connection.execute(
        select(
            evaluation.c.hardware_id, evaluation.c.problem_id, evaluation.c.status, evaluation.c.median_ms,
            evaluation.c.message, variant.c.options, hardware.c.name.label("device"),
        )
        .join(variant, variant.c.id == evaluation.c.variant_id)
        .join(schema.kernel, schema.kernel.c.id == variant.c.kernel_id)
        .join(hardware, hardware.c.id == evaluation.c.hardware_id)
        .where(schema.kernel.c.name == encode.text(kernel, encode.NAME_LENGTH), schema.kernel.c.source == "")
        .where(hardware.c.fingerprint != encode.fingerprint(besides), ~evaluation.c.reused, ~evaluation.c.is_check)
        .order_by(evaluation.c.id.desc())
    )  # fmt: skip
    groups: dict[tuple[int, int, tuple[str, ...]], list[Any]] = defaultdict(list)
    for row in rows:
        defined = _definitions(row.options)
        groups[row.hardware_id, row.problem_id, tuple(defined)].append((row, tuple(defined.values())))
    found = [_recording(kernel, names, lines) for (_, _, names), lines in groups.items()]
    return tuple(sorted((item for item in found if item is not None), key=lambda item: (-len(item), item.device)))


def _definitions(options: Any) -> dict[str, str]:
    pairs = (option.removeprefix(_DEFINED).split("=", 1) for option in decode.strings(options) if "=" in option)
    return {name: value for name, value in pairs}


def _recording(
    kernel: str, names: tuple[str, ...], lines: Sequence[tuple[Row[Any], tuple[str, ...]]]
) -> Recording | None:
    """None where nothing was timed or varied."""
    told = (
        (values, row.median_ms, "" if row.status == Status.OK.value else row.message or row.status)
        for row, values in lines
    )
    try:
        return recording_of(kernel, lines[0][0].device, names, told)
    except RecordingError:
        return None

"""What a faster device would change, by the roofline: a model, with its own error on the devices that were measured.

A variant keeps its share of the roofline: its time changes as the least time that the ceilings allow. The same rule
carries a measured time from one device of the study to another one; how far that is off is the model's error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from evaluator.backend import Peaks
from evaluator.profile import bound_ms, place
from evaluator.result import Bottleneck
from evo.campaign_types import CampaignError
from evo.portability.case import Case, Place

FIELDS = ("bandwidth", "compute", "sms", "shared")
_UNITS = {
    "bandwidth": {"": 1.0, "gb/s": 1.0, "tb/s": 1e3},
    "compute": {"": 1.0, "gflops": 1.0, "tflops": 1e3},
    "sms": {"": 1.0},
    "shared": {"": 1.0, "b": 1.0, "kb": 1024.0, "mb": 1024.0**2},
}


@dataclass(frozen=True)
class Change:
    """One thing that is different: a factor, or a new value in the unit of ``Place``."""

    field: str
    value: float
    factor: bool


@dataclass(frozen=True)
class Outlook:
    """A kernel's best variant on a changed device.

    Attributes:
        place: Index into the case's places.
        before_ms, after_ms: As measured, and by the model.
        before, after: What limits it, by the roofline.
        fits: Blocks that its shared memory lets a multiprocessor hold (before, after); None where nobody told.
    """

    place: int
    before_ms: float
    after_ms: float
    before: Bottleneck
    after: Bottleneck
    fits: tuple[int, int] | None = None

    @property
    def changes(self) -> bool:
        """True if something else limits it."""
        return self.before is not self.after


@dataclass(frozen=True)
class ModelError:
    """How far the model is off: factors of 1 or more, over pairs of a champion and a device that is not its own."""

    typical: float
    worst: float
    pairs: int


@dataclass(frozen=True)
class WhatIf:
    """The answer for a case.

    Attributes:
        outlooks: One for each device whose peaks are known.
        error: None with fewer than two devices to compare.
        unknown: Places that the model says nothing of, with the reason.
    """

    outlooks: tuple[Outlook, ...]
    error: ModelError | None
    unknown: tuple[tuple[int, str], ...]


def parse_changes(text: str) -> tuple[Change, ...]:
    """The changes of ``bandwidth=2x,shared=228KB,sms=264``.

    Raises:
        CampaignError: With what was expected.
    """
    changes: dict[str, Change] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, _, value = (piece.strip().lower() for piece in part.partition("="))
        if name not in FIELDS:
            raise CampaignError(f"--what-if: expected one of {', '.join(FIELDS)} and a value, got '{part}'")
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z/]*)", value)
        units = {**_UNITS[name], "x": 1.0}
        if match is None or match[2] not in units or float(match[1]) <= 0:
            shown = ", ".join(f"'{unit}'" for unit in units if unit)
            raise CampaignError(f"--what-if: {name}: expected a number above 0 with a unit ({shown}), got '{value}'")
        if name in changes:
            raise CampaignError(f"--what-if: {name}: given twice; keep one of them")
        changes[name] = Change(name, float(match[1]) * units[match[2]], match[2] == "x")
    if not changes:
        raise CampaignError("--what-if: expected changes such as bandwidth=2x,shared=228KB,sms=264, got nothing")
    return tuple(changes.values())


def changed(device: Place, changes: tuple[Change, ...]) -> Place:
    """The device with the changes. More multiprocessors raise the arithmetic ceiling in proportion.

    Raises:
        ValueError: If a new value replaces one that the device does not tell; the text names it.
    """
    for change in changes:
        peaks = device.peaks
        match change.field:
            case "bandwidth":
                new = _changed(change, peaks.bandwidth_gbs)
                device = replace(device, peaks=Peaks(new, peaks.gflops))
            case "compute":
                device = replace(device, peaks=Peaks(peaks.bandwidth_gbs, _changed(change, peaks.gflops)))
            case "shared":
                device = replace(device, shared_bytes=round(_changed(change, device.shared_bytes)))
            case _:
                if not change.factor and not device.units:
                    raise ValueError("its number of multiprocessors is not known; say sms=2x, or give it as `units:`")
                ratio = change.value if change.factor else change.value / device.units
                grown = Peaks(peaks.bandwidth_gbs, peaks.gflops * ratio)
                device = replace(device, peaks=grown, units=round(device.units * ratio))
    return device


def _changed(change: Change, before: float) -> float:
    return before * change.value if change.factor else change.value


def what_if(case: Case, changes: tuple[Change, ...]) -> WhatIf:
    """The outlook of each device's best variant."""
    outlooks: list[Outlook] = []
    unknown: list[tuple[int, str]] = []
    for number, device in enumerate(case.places):
        times = case.times_ms[:, number]
        if case.work is None or not bound_ms(case.work, device.peaks):
            unknown.append((number, "the kernel's work or the device's peaks are not known"))
        elif np.isnan(times).all():
            unknown.append((number, "nothing is timed there"))
        else:
            try:
                outlooks.append(_outlook(case, number, changes))
            except ValueError as error:
                unknown.append((number, str(error)))
    return WhatIf(tuple(outlooks), model_error(case), tuple(unknown))


def _outlook(case: Case, number: int, changes: tuple[Change, ...]) -> Outlook:
    device, work = case.places[number], case.work
    assert work is not None  # the caller has looked
    later, time = changed(device, changes), float(np.nanmin(case.times_ms[:, number]))
    after = time * bound_ms(work, later.peaks) / bound_ms(work, device.peaks)
    taken = case.shared_bytes[number] if case.shared_bytes else None
    fits = (device.shared_bytes // taken, later.shared_bytes // taken) if taken and device.shared_bytes else None
    return Outlook(
        number,
        time,
        after,
        place(work, time, device.peaks).bottleneck,
        place(work, after, later.peaks).bottleneck,
        fits,
    )


def model_error(case: Case) -> ModelError | None:
    """Carries each champion's time from its device to the others by the model, and compares with what was measured."""
    bounds = [bound_ms(case.work, device.peaks) if case.work else 0.0 for device in case.places]
    logs = []
    for own, variant in enumerate(case.champions):
        for other, bound in enumerate(bounds):
            if variant is None or other == own or not bound or not bounds[own]:
                continue
            predicted = case.times_ms[variant, own] * bound / bounds[own]
            logs.append(abs(float(np.log(predicted / case.times_ms[variant, other]))))
    known = [value for value in logs if not np.isnan(value)]
    if not known:
        return None
    return ModelError(float(np.exp(np.mean(known))), float(np.exp(np.max(known))), len(known))

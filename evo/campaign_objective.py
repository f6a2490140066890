"""What a campaign optimises: bounds that make sense, on a device that can measure them."""

from __future__ import annotations

from pathlib import Path

from evaluator.objective import Kind, Objective
from evaluator.result import DeviceInfo
from evo.campaign_errors import shown
from evo.campaign_model import ObjectiveModel
from evo.campaign_types import CampaignError
from evo.campaign_yaml import Document, FieldPath

_WHERE: FieldPath = ("objective",)
_METERED = "cuda"
_NO_ENERGY = "energy is counted on NVIDIA GPUs alone (by NVML)"


def build_objective(model: ObjectiveModel, device: str, document: Document) -> Objective:
    """The objective of a validated file.

    Args:
        model: As the file has it.
        device: As the campaign names it.
        document: For errors.

    Raises:
        CampaignError: If a bound is on what is optimised, or the device that the campaign names cannot measure it.
    """
    bounds = {
        Kind.LATENCY: (("at_most", "latency_ms"), model.at_most.latency_ms),
        Kind.ENERGY: (("at_most", "energy_mj"), model.at_most.energy_mj),
        Kind.THROUGHPUT: (("at_least", "throughput"), model.at_least.throughput),
    }
    kind = Kind(model.kind)
    where, value = bounds[kind]
    if value is not None:
        others = ", ".join(str(other) for other in Kind if other is not kind)
        raise document.error(
            (*_WHERE, *where), f"{kind} is what is optimised: bound another measure ({others}), or remove it"
        )
    together = kind is Kind.THROUGHPUT or model.at_least.throughput is not None
    if model.at_once is not None and not together:
        raise document.error(
            (*_WHERE, "at_once"), f"is for throughput, which this campaign neither optimises nor bounds; got "
                                  f"{shown(model.at_once)}")  # fmt: skip
    found = Objective(
        kind, model.at_once or Objective.at_once, model.at_most.latency_ms, model.at_least.throughput,
        model.at_most.energy_mj,
    )  # fmt: skip
    if found.metered and device != "auto" and not device.startswith(f"{_METERED}:"):
        place = _WHERE if kind is Kind.ENERGY else (*_WHERE, "at_most", "energy_mj")
        raise document.error(place, f"{_NO_ENERGY}, not on {device}; choose another objective or device")
    return found


def check_device(objective: Objective, device: DeviceInfo, path: Path) -> None:
    """Refuses an objective that a device cannot measure, where the campaign left open which device that is.

    Raises:
        CampaignError: If it cannot.
    """
    needed = objective.kind is Kind.ENERGY or Kind.ENERGY in objective.bounded
    if needed and not device.id.startswith(f"{_METERED}:"):
        raise CampaignError(f"{path}: objective: {_NO_ENERGY}, not on {device.id}; choose another objective or device")


def objective_notes(model: ObjectiveModel) -> tuple[str, ...]:
    """What the figures of a campaign mean where they are not times of a single call."""
    if model.kind == "throughput":
        calls = model.at_once or Objective.at_once
        return (f"times are those of {calls} calls under way at once, each with arrays of its own, divided by {calls}",)
    if model.kind == "energy":
        return (
            "speed-ups are ratios of energy: of the whole device, calls one after another, its idle power included",
        )
    return ()

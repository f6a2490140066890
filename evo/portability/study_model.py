"""``study.yaml`` as pydantic models: types and bounds of each field. ``study`` checks what goes across fields."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from evo.campaign_model import BudgetModel

Positive = Annotated[float, Field(gt=0, strict=False, allow_inf_nan=False)]
Title = Annotated[str, Field(min_length=1, max_length=120)]


def _device(value: object) -> object:
    return {"device": value} if isinstance(value, str) else value


def _kernel(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


def _text(value: object) -> object:
    return str(int(value)) if isinstance(value, bool) else str(value) if isinstance(value, (int, float)) else value


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WorkModel(_Model):
    """``work:``: what a call of a recorded kernel does at least."""

    flops: Positive
    bytes: Positive


class PeaksModel(_Model):
    """``peaks:``: ceilings of a recorded device."""

    bandwidth_gbs: Positive
    gflops: Positive


class KernelModel(_Model):
    """One of ``kernels:``: a campaign file, or the name of a recorded kernel."""

    name: Title | None = None
    campaign: str | None = None
    entry: str | None = None
    work: WorkModel | None = None


class DeviceModel(_Model):
    """One of ``devices:``."""

    device: str
    name: Title | None = None
    kernel: Title | None = None
    fixed: dict[str, Annotated[str, BeforeValidator(_text)]] = {}
    peaks: PeaksModel | None = None
    units: Annotated[int, Field(ge=1)] | None = None
    shared_bytes: Annotated[int, Field(ge=1)] | None = None


class StudyModel(_Model):
    """The whole file."""

    version: Literal[1]
    name: Title | None = None
    kernels: list[Annotated[KernelModel, BeforeValidator(_kernel)]] = []
    devices: Annotated[list[Annotated[DeviceModel, BeforeValidator(_device)]], Field(min_length=1)]
    sizes: list[str] = []
    keep: Annotated[float, Field(gt=0, le=1, strict=False)] = 0.95
    budget: BudgetModel | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    knowledge: str = "auto"
    output: str = "portability"

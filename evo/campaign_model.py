"""Pydantic models of the campaign file: names, types and ranges of its fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf

from genome.sizes import ExpressionError, SizeExpr
from genome.spec import DTYPES

AXES = ("x", "y", "z")
FIXED = "fixed"
"""Check sizes of a kernel that is compiled for its one size: there are none."""
_C_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _expression(value: object) -> object:
    if isinstance(value, SizeExpr):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"expected an integer or an expression of sizes such as N*M, got {value!r}")
    try:
        return SizeExpr(str(value))
    except ExpressionError as error:
        raise ValueError(f"expected an expression of sizes such as (N + 15) // 16; {error}") from None


def _threads(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"expected an integer or an expression of tunables and sizes such as 2*TILE, got {value!r}")
    try:
        return SizeExpr(str(value))
    except ExpressionError as error:
        raise ValueError(
            f"expected an integer or an expression of tunables and sizes such as 2*TILE; {error}"
        ) from None


def _ascending(bounds: list[int]) -> list[int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"expected [low, high], got {bounds}")
    return bounds


def _per_axis(value: object) -> object:
    """``512``, ``[16, 16]`` and ``{x: 16, y: 16}`` become a list along x, y, z."""
    if isinstance(value, dict):
        unknown = [key for key in value if key not in AXES]
        if unknown:
            raise ValueError(f"expected x, y and z, got '{unknown[0]}'")
        used = AXES[: max((AXES.index(key) + 1 for key in value), default=0)]
        return [value.get(axis, 1) for axis in used]
    return value if isinstance(value, list) else [value]


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _as_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"expected a text or a number, got {value!r}")
    return str(value)


def _kind(value: object) -> object:
    return {"kind": value} if isinstance(value, str) else value


def _scalar(value: object) -> object:
    return value if isinstance(value, float) else _expression(value)


_DTYPE_NAMES = {"float": "float32", "double": "float64", "half": "float16", "bf16": "bfloat16", "int": "int32"}


def _dtype(value: object) -> object:
    return _DTYPE_NAMES.get(str(value), value)


def _check_sizes(value: object) -> object:
    if isinstance(value, str) and value not in ("generate", FIXED):
        raise ValueError(f"expected a list of sizes, 'generate' or '{FIXED}', got '{value}'")
    return None if value == "generate" else value


def _reference(value: object) -> object:
    if value is None or value == "none":
        return None
    return {"function": value} if isinstance(value, str) else value


Expression = Annotated[InstanceOf[SizeExpr], BeforeValidator(_expression)]
Threads = Annotated[InstanceOf[SizeExpr], BeforeValidator(_threads)]
Name = Annotated[str, Field(pattern=_C_NAME)]
Text = Annotated[str, BeforeValidator(_as_text)]
Positive = Annotated[int, Field(ge=1)]
Number = Annotated[float, Field(strict=False, allow_inf_nan=False)]
Statement = Annotated[str, Field(min_length=1, max_length=500)]  # of a kernel: its licence, where it comes from


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KernelModel(_Model):
    """``kernel:``: where the source is and which ``__global__`` function is meant."""

    source: str
    entry: Name | None = None
    template_args: list[Text] = []
    defines: dict[str, Text] = {}
    include: list[str] = []


class InitModel(_Model):
    """``init:``: how an array is filled."""

    kind: Literal[
        "uniform", "normal", "wide", "integers", "permutation", "monotone", "constant", "zeros", "arange", "file",
        "generator",
    ]  # fmt: skip
    low: Number | None = None
    high: Number | None = None
    mean: Number | None = None
    std: Number | None = None
    value: Number | None = None
    path: str = ""
    function: str = ""


class ArgumentModel(_Model):
    """One entry of ``arguments:``."""

    name: Name
    dtype: Annotated[str, BeforeValidator(_dtype), Field(json_schema_extra={"choices": list(DTYPES)})]
    shape: Annotated[list[Expression], BeforeValidator(_listed), Field(min_length=1, max_length=8)] | None = None
    role: Literal["in", "out", "inout"] = "in"
    value: Annotated[InstanceOf[SizeExpr] | float, BeforeValidator(_scalar)] | None = None
    init: Annotated[InitModel, BeforeValidator(_kind)] | None = None


class ConstantModel(_Model):
    """One of ``constants:``: what the host puts into a ``__constant__`` or ``__device__`` variable of the file."""

    dtype: Annotated[str, BeforeValidator(_dtype), Field(json_schema_extra={"choices": list(DTYPES)})]
    shape: Annotated[list[Expression], BeforeValidator(_listed), Field(min_length=1, max_length=8)] | None = None
    value: Annotated[InstanceOf[SizeExpr] | float, BeforeValidator(_scalar)] | None = None
    init: Annotated[InitModel, BeforeValidator(_kind)] | None = None


class LaunchModel(_Model):
    """``launch:``: a domain or a grid, and the block."""

    domain: Annotated[list[Expression], BeforeValidator(_per_axis), Field(min_length=1, max_length=3)] | None = None
    grid: Annotated[list[Expression], BeforeValidator(_per_axis), Field(min_length=1, max_length=3)] | None = None
    block: Annotated[list[Threads], BeforeValidator(_per_axis), Field(min_length=1, max_length=3)]
    shared_bytes: Expression = SizeExpr("0")


class ToleranceModel(_Model):
    """``tolerance:``; a missing field takes the default of the output's dtype."""

    rtol: Annotated[Number, Field(ge=0)] | None = None
    atol: Annotated[Number, Field(ge=0)] | None = None
    norm: Annotated[Number, Field(ge=0)] | None = None


class AssumeModel(_Model):
    """``assume:``: what the user grants beyond what the source proves."""

    no_alias: bool = False
    alignment: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256] = 4
    divisible: dict[str, Positive] = {}
    ranges: dict[str, Annotated[list[int], Field(min_length=2, max_length=2), AfterValidator(_ascending)]] = {}
    reassociation: bool = False
    fast_math: bool = False
    tf32: bool = False


class SiteModel(_Model):
    """Where a pinned gene acts."""

    label: str
    role: str = ""


class PinModel(_Model):
    """A gene that every genome holds."""

    transform: str
    site: Annotated[SiteModel, BeforeValidator(lambda value: {"label": value} if isinstance(value, str) else value)]
    params: dict[str, bool | int | str] = {}


class SteeringModel(_Model):
    """``transforms:``: a person's veto and knowledge."""

    forbid: list[str] = []
    focus: list[str] = []
    pin: list[PinModel] = []


class LimitsModel(_Model):
    """``limits:``: tighter than the device's own."""

    registers: Annotated[int, Field(ge=16, le=255)] | None = None
    shared_memory: Annotated[int, Field(ge=0)] | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None


class AtMostModel(_Model):
    """``objective.at_most:``: what a call may take at any tuned size."""

    latency_ms: Annotated[Number, Field(gt=0)] | None = None
    energy_mj: Annotated[Number, Field(gt=0)] | None = None


class AtLeastModel(_Model):
    """``objective.at_least:``: what has to be reached at every tuned size."""

    throughput: Annotated[Number, Field(gt=0)] | None = None


class ObjectiveModel(_Model):
    """``objective:``: what is optimised, under which bounds on the rest."""

    kind: Literal["latency", "throughput", "energy"]
    at_once: Annotated[int, Field(ge=2, le=64)] | None = None
    at_most: AtMostModel = AtMostModel()
    at_least: AtLeastModel = AtLeastModel()


class BudgetModel(_Model):
    """``budget:``: whichever comes first ends the campaign."""

    evaluations: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    minutes: Annotated[Number, Field(gt=0)] | None = None
    patience: Positive | None = None


class ReferenceModel(_Model):
    """``reference:``: a numpy function or a checker of the user's own."""

    function: str | None = None
    checker: str | None = None


class EntryModel(_Model):
    """One of ``entries:``: what it says takes the place of the same field of the campaign (``kernel`` field by field).

    The fields themselves are validated when they stand in their campaign.
    """

    name: Name | None = None
    calls: Annotated[Number, Field(gt=0)] = 1.0
    licence: Any = None
    provenance: Any = None
    kernel: Any = None
    arguments: Any = None
    constants: Any = None
    launch: Any = None
    sizes: Any = None
    check_sizes: Any = None
    reference: Any = None
    tolerance: Any = None
    assume: Any = None
    tunables: Any = None
    restrictions: Any = None
    transforms: Any = None
    limits: Any = None


class EntriesModel(BaseModel):
    """The part of a file that names several entries."""

    entries: Annotated[list[EntryModel], Field(min_length=1)]


class CampaignModel(_Model):
    """The whole file, or one entry of it."""

    version: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    licence: Statement | None = None
    provenance: Statement | None = None
    kernel: KernelModel
    arguments: Annotated[list[ArgumentModel], Field(min_length=1)]
    constants: dict[Name, ConstantModel] = {}
    launch: LaunchModel
    sizes: Annotated[list[dict[Name, Any]], Field(min_length=1)]
    check_sizes: Annotated[list[dict[Name, Any]] | Literal["fixed"] | None, BeforeValidator(_check_sizes)] = None
    reference: Annotated[ReferenceModel | None, BeforeValidator(_reference)] = None
    tolerance: ToleranceModel = ToleranceModel()
    assume: AssumeModel = AssumeModel()
    tunables: dict[Name, Annotated[list[Text], Field(min_length=1)]] = {}
    restrictions: list[Expression] = []
    transforms: SteeringModel = SteeringModel()
    limits: LimitsModel = LimitsModel()
    device: str = "auto"
    objective: Annotated[ObjectiveModel, BeforeValidator(_kind)] = ObjectiveModel(kind="latency")
    budget: BudgetModel = BudgetModel()
    population: Annotated[int, Field(ge=2, le=10_000)] = 24
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    knowledge: str = "auto"
    surrogate: bool = True
    epsilon: Annotated[Number, Field(ge=0, le=1)] = 0.1
    output: str = "evo-out"

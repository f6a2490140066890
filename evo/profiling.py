"""Where a kernel stands: its bottleneck at every tuned size, as it is and with the genes of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluator.api import EvaluatorError
from evaluator.result import DeviceInfo, Evaluation, Profile, Resources, Toolchain
from evo.campaign import Campaign, CampaignError
from evo.campaign_replay import require_kernel
from evo.diagnosis import diagnosed
from evo.parts import Parts
from evo.reading import open_baseline
from evo.trial import try_variant
from evo.verify import Claim
from evo.wire import build
from genome.spec import ProblemSize
from genome.variant import Rejection, Variant


@dataclass(frozen=True)
class Row:
    """One kernel at one size: the median of its timed runs, and the energy of a call where that is counted."""

    kernel: str
    size: str
    ms: float
    profile: Profile
    resources: Resources
    energy_mj: float | None = None

    @property
    def measured(self) -> tuple[str, ...]:
        """Fields that were measured; rates are the model's operations and bytes over a measured time."""
        return ("ms", *(("energy_mj",) if self.energy_mj is not None else ()), *self.profile.measured)


@dataclass(frozen=True)
class Profiling:
    """Profiles of the kernel as it is (``before``) and with genes (``after``; empty without)."""

    device: DeviceInfo
    toolchain: Toolchain
    before: tuple[Row, ...]
    after: tuple[Row, ...] = ()


def profile(campaign: Campaign, claim: Claim | None = None) -> Profiling:
    """Verifies and times the kernel (and the claim's variant) at every tuned size and says what limits it (blocks).

    Raises:
        CampaignError: If the claim's genome gives nothing that can run here, or there is no kernel.
        EvaluatorError, DeviceError: If the device or the kernel cannot be used.
    """
    require_kernel(campaign, "profile")
    metering = replace(campaign.objective, meter=True)
    with build(replace(campaign, use_knowledge=False, objective=metering)) as parts:
        sizes = campaign.spec.sizes
        opened = open_baseline(parts, sizes)
        before = _rows("as it is", opened.baseline, opened.measured.evaluations, parts, sizes)
        after = _rows("evolved", *_evolved(opened.parts, claim), opened.parts, sizes) if claim else ()
        return Profiling(parts.evaluator.device, parts.evaluator.toolchain, before, after)


def _evolved(parts: Parts, claim: Claim) -> tuple[Variant, tuple[Evaluation, ...]]:
    variant = parts.lower(claim.genome)
    if isinstance(variant, Rejection):
        raise CampaignError(f"{claim.path}: its genome cannot run on this device: {variant.reason}")
    trial = try_variant(parts.evaluator, variant, 1, lambda: False)
    if trial.measured is None:
        raise EvaluatorError(f"{claim.path}: its kernel cannot be measured here: {trial.reason}")
    return variant, trial.measured.evaluations


def _rows(
    kernel: str, variant: Variant, evaluations: Sequence[Evaluation], parts: Parts, sizes: Sequence[ProblemSize]
) -> tuple[Row, ...]:
    counted = [parts.evaluator.counted(variant, evaluation) for evaluation in evaluations]
    return tuple(
        Row(kernel, e.size, e.timing.median_ms, e.profile, e.resources, e.energy_mj)
        for e in diagnosed(counted, variant, sizes, parts.strain, parts.evaluator.device.kind)
        if e.timing is not None and e.profile is not None
    )


def profiling_json(result: Profiling) -> dict[str, Any]:
    """The profiles as plain data: milliseconds, FLOP, bytes, GFLOP/s, GB/s, shares of 1."""
    device = result.device
    return {
        "device": device.name,
        "toolchain": result.toolchain.label,
        "peaks": {"bandwidth_gbs": device.bandwidth_gbs, "gflops": device.peak_gflops},
        "profiles": [_row_json(row) for row in (*result.before, *result.after)],
    }


def _row_json(row: Row) -> dict[str, Any]:
    profile, resources = row.profile, row.resources
    return {
        "kernel": row.kernel,
        "size": row.size,
        "ms": row.ms,
        "energy_mj": row.energy_mj,
        "bottleneck": str(profile.bottleneck),
        "evidence": profile.evidence,
        "flops": profile.flops,
        "bytes": profile.bytes,
        "intensity": profile.intensity,
        "gflops": profile.gflops,
        "gbytes_per_s": profile.gbytes_per_s,
        "roofline_fraction": profile.roofline_fraction,
        "measured": list(row.measured),
        "counters": dict(profile.counters),
        "registers": resources.registers,
        "spills_bytes": resources.spills_bytes,
        "shared_bytes": resources.shared_bytes,
        "occupancy": resources.occupancy,
    }

"""Winners of finished campaigns, as they were proven: what has to hold on when the platform under them changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from evaluator.result import Status, Toolchain
from genome.genes import Genome
from knowledge import decode, schema
from knowledge.baseline import baselines
from knowledge.features import DEVICE_FEATURES

ORIGIN = "origin"
"""State of a campaign that tells its file on the machine where it ran, and its entry in that file."""

_Times = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Champion:
    """What a finished campaign ended with.

    Attributes:
        campaign: Its number in the base.
        name: Its name.
        kernel, kernel_digest: What it was about.
        contract: What counted as right (``evo.contract``).
        version: Of evo-tune.
        device, fingerprint, device_features: Where it ran.
        toolchain: Under which driver and compiler.
        variant, genome: The winner; the empty genome where nothing was faster than the kernel as it was.
        speedup, low, high: Over all tuned sizes, with the interval.
        times_ms: (size label, milliseconds of the kernel as it was, of the winner).
        objective: As the campaign file had it.
        file, entry: Where the campaign file was, empty if the base does not know: the word of whoever wrote it.
        finished: When, ISO 8601.
    """

    campaign: int
    name: str
    kernel: str
    kernel_digest: str
    contract: str
    version: str
    device: str
    fingerprint: str
    device_features: tuple[float, ...]
    toolchain: Toolchain
    variant: str
    genome: Genome
    speedup: float
    low: float
    high: float
    times_ms: tuple[tuple[str, float, float], ...]
    objective: Any = None
    file: str = ""
    entry: str = ""
    finished: str = ""


def champions(connection: Connection) -> tuple[Champion, ...]:
    """The winner of every finished campaign whose proof held, the newest first.

    Campaigns that do not tell what they ended with (recordings that were taken in, say) have none.
    """
    rows = connection.execute(_finished()).all()
    times = _proven(connection, [row.id for row in rows])
    times |= _searched(connection, [(row.id, row.variant_id) for row in rows if row.id not in times])
    found = (_champion(row, times.get(row.id, {})) for row in rows)
    return tuple(champion for champion in found if champion is not None)


def _finished() -> Any:
    """Campaigns with everything that their keys name, and the variant that their summary calls the best."""
    campaign, kernel, hardware, toolchain = schema.campaign, schema.kernel, schema.hardware, schema.toolchain
    variant, state = schema.variant, schema.state
    best = campaign.c.summary["best"].as_string()
    return (
        select(
            campaign, kernel.c.name.label("kernel"), kernel.c.digest.label("kernel_digest"),
            hardware.c.name.label("device"), hardware.c.fingerprint, hardware.c.features,
            toolchain.c.platform, toolchain.c.driver, toolchain.c.compiler,
            variant.c.id.label("variant_id"), variant.c.digest.label("variant"), schema.genome.c.genes,
            state.c.data.label("origin"),
        )
        .join(kernel, kernel.c.id == campaign.c.kernel_id)
        .join(hardware, hardware.c.id == campaign.c.hardware_id)
        .join(toolchain, toolchain.c.id == campaign.c.toolchain_id)
        .join(variant, and_(variant.c.kernel_id == campaign.c.kernel_id, variant.c.digest == best))
        .join(schema.genome, schema.genome.c.id == variant.c.genome_id)
        .outerjoin(state, and_(state.c.campaign_id == campaign.c.id, state.c.key == ORIGIN))
        .where(campaign.c.finished_at.is_not(None), campaign.c.summary["verified"].as_string() == "true")
        .order_by(campaign.c.finished_at.desc(), campaign.c.id.desc())
    )  # fmt: skip


def _proven(connection: Connection, campaigns: Sequence[int]) -> dict[int, _Times]:
    """Times of the final comparison of each campaign's winner, by campaign and size."""
    proof, campaign, variant = schema.proof, schema.campaign, schema.variant
    rows = connection.execute(
        select(proof, schema.problem.c.label)
        .join(campaign, campaign.c.id == proof.c.campaign_id)
        .join(variant, variant.c.id == proof.c.variant_id)
        .join(schema.problem, schema.problem.c.id == proof.c.problem_id)
        .where(proof.c.campaign_id.in_(campaigns), variant.c.digest == campaign.c.summary["best"].as_string())
    )
    found: dict[int, _Times] = {}
    for row in rows:
        found.setdefault(row.campaign_id, {})[row.label] = (row.baseline_ms, row.best_ms)
    return found


def _searched(connection: Connection, winners: Sequence[tuple[int, int]]) -> dict[int, _Times]:
    """Times that the search measured, or looked up in a recording, where there was no final comparison."""
    evaluation, wanted = schema.evaluation, dict(winners)
    before = baselines(connection, wanted)
    rows = connection.execute(
        select(evaluation.c.campaign_id, evaluation.c.variant_id, evaluation.c.problem_id, evaluation.c.median_ms,
               schema.problem.c.label)
        .join(schema.problem, schema.problem.c.id == evaluation.c.problem_id)
        .where(evaluation.c.campaign_id.in_(list(wanted)), evaluation.c.variant_id.in_(list(wanted.values())))
        .where(evaluation.c.status == Status.OK.value, ~evaluation.c.is_check, evaluation.c.median_ms > 0)
        .order_by(evaluation.c.id)
    )  # fmt: skip
    found: dict[int, _Times] = {}
    for row in rows:
        first = before.get((row.campaign_id, row.problem_id))
        if wanted[row.campaign_id] == row.variant_id and first is not None:
            found.setdefault(row.campaign_id, {})[row.label] = (first, row.median_ms)
    return found


def _champion(row: Row[Any], times: _Times) -> Champion | None:
    """None where what the base holds is no champion: it may be a shared one."""
    genome, figures = decode.genome(row.genes), _figures(row.summary)
    if genome is None or figures is None or not times:
        return None
    told: Mapping[str, Any] = row.origin if isinstance(row.origin, dict) else {}
    settings: Mapping[str, Any] = row.settings if isinstance(row.settings, dict) else {}
    return Champion(
        row.id, row.name, row.kernel, row.kernel_digest, row.contract, row.version, row.device, row.fingerprint,
        decode.numbers(row.features)[: len(DEVICE_FEATURES)], Toolchain(row.platform, row.driver, row.compiler),
        row.variant, genome, *figures,
        tuple((label, before, after) for label, (before, after) in sorted(times.items())),
        settings.get("objective"), str(told.get("file") or ""), str(told.get("entry") or ""),
        row.finished_at.isoformat(),
    )  # fmt: skip


def _figures(summary: Any) -> tuple[float, float, float] | None:
    """(speed-up, low, high); None unless all are positive numbers."""
    told = summary.get("speedup") if isinstance(summary, dict) else None
    values = [told.get(name) for name in ("median", "low", "high")] if isinstance(told, dict) else []
    numbers = [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v) and v > 0]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None

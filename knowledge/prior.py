"""Remembered optima for a campaign that starts: what worked on this kernel, or on one like it, here or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, and_, func, select, text

from evaluator.result import DeviceInfo, Toolchain
from genome.spec import ProblemSize
from knowledge import decode, encode, schema
from knowledge.features import device_features
from knowledge.filters import Filter, is_named
from knowledge.prior_rows import Place, nearest_places, optima, optima_at, place_values, proofs
from knowledge.records import KernelRecord, Prior
from knowledge.rows import BestRow, Proven, SimilarRow
from knowledge.similarity import carried_over, nearest_size, size_distance, vector_distance

OTHER_TOOLCHAIN = 0.25
OTHER_DEVICE = 2.0
OTHER_KERNEL = 8.0
FARTHEST_KERNEL = 1.5
"""Kernels whose feature vectors are farther apart than this have nothing to tell each other."""
NEIGHBOURS = 8
"""Similar kernels that are looked at."""
PLACES = 2
"""Optima that are looked at for each prior that is wanted: some are baselines, and a proof may replace them."""
_AS_WRITTEN = text("SELECT set_config('join_collapse_limit', '1', true)")
"""For the rest of the transaction Postgres joins in the order of the query, which it would take longer to find."""


@dataclass(frozen=True)
class _Neighbour:
    """A kernel of the base with its distance: 0 for the same structure."""

    id: int
    distance: float


@dataclass(frozen=True)
class _Asked:
    """What priors are wanted for: fingerprint and vector of the device, columns of the toolchain, sizes."""

    fingerprint: str
    device: tuple[float, ...]
    toolchain: Mapping[str, str]
    sizes: tuple[Mapping[str, int], ...]


def priors(
    connection: Connection, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain,
    sizes: Sequence[ProblemSize], limit: int,
) -> tuple[Prior, ...]:  # fmt: skip
    """Remembered optima and proven variants, the nearest first: same kernel and hardware (exact size, then nearest
    size), same kernel elsewhere, similar kernels. Each genome appears once, a proof before a figure of the search.
    Baselines (the empty genome) are left out.

    The distance adds up: root mean square log2 ratio of the sizes, ``OTHER_TOOLCHAIN``, ``OTHER_DEVICE`` plus the
    distance of the device vectors, ``OTHER_KERNEL`` plus that of the kernel vectors. It ranks; it has no unit.
    """
    apart = {item.id: item.distance for item in _neighbours(connection, kernel, NEIGHBOURS)}
    asked = _Asked(encode.fingerprint(device), device_features(device), encode.toolchain_row(toolchain),
                   tuple(size.env for size in sizes))  # fmt: skip
    places = _places(connection, apart, asked, PLACES * limit)
    connection.execute(_AS_WRITTEN)
    queries = (optima_at(), proofs()) if places else ()
    rows = [row for query in queries for row in connection.execute(query, place_values(places)).all()]
    scale = _Scale(asked, apart)
    found: dict[str, Prior] = {}
    for row in sorted(rows, key=scale.order):
        prior = _prior(row, scale) if row.genome not in found else None
        if prior is not None:
            found[row.genome] = prior
        if len(found) == limit:
            break
    return tuple(found.values())


@dataclass(frozen=True)
class _Far:
    """How far a row is from what is asked, part by part; see ``priors``."""

    size: float
    device: float
    kernel: float
    other_tools: bool

    @property
    def total(self) -> float:
        tools = OTHER_TOOLCHAIN if self.other_tools else 0.0
        return self.size + self.device + _kernel_part(self.kernel) + tools


class _Scale:
    """Tells how far rows are; many of them share a size or a device, which is compared once."""

    def __init__(self, asked: _Asked, kernels: Mapping[int, float]) -> None:
        """``kernels``: by id, their distance."""
        self._asked, self._kernels = asked, kernels
        self._sizes: dict[str, float] = {}
        self._devices: dict[str, float] = {asked.fingerprint: 0.0}

    def far(self, row: Row[Any]) -> _Far:
        """Of an optimum or a proof."""
        size = self._sizes.get(row.label)
        if size is None:
            size = self._sizes[row.label] = nearest_size(decode.sizes(row.sizes), self._asked.sizes)
        device = self._devices.get(row.fingerprint)
        if device is None:
            device = OTHER_DEVICE + vector_distance(self._asked.device, row.device_features)
            self._devices[row.fingerprint] = device
        tools = {"platform": row.platform, "driver": row.driver, "compiler": row.compiler}
        other_tools = row.fingerprint == self._asked.fingerprint and tools != self._asked.toolchain
        return _Far(size, device, self._kernels[row.kernel_id], other_tools)

    def order(self, row: Row[Any]) -> tuple[float, bool, float, str]:
        """The nearest first; of those at one distance proofs, then the largest gain."""
        return self.far(row).total, row.proven_speedup is None, -(_gain(row) or 0.0), row.variant


def _places(connection: Connection, apart: Mapping[int, float], asked: _Asked, limit: int) -> list[Place]:
    """Keys of the nearest optima of kernels at these distances, as ``priors`` ranks them."""
    problem = schema.problem
    rows = connection.execute(
        select(problem.c.id, problem.c.kernel_id, problem.c["values"]).where(problem.c.kernel_id.in_(apart))
    ).all()
    near = {
        row.id: nearest_size(decode.sizes(row.values), asked.sizes) + _kernel_part(apart[row.kernel_id])
        for row in rows
    }  # fmt: skip
    parameters = {
        "near_problem_id": list(near), "near_apart": list(near.values()), "fingerprint": asked.fingerprint,
        "vector": encode.vector(asked.device, schema.DEVICE_DIMENSIONS), "other_device": OTHER_DEVICE,
        "other_toolchain": OTHER_TOOLCHAIN, "most": limit, **asked.toolchain,
    }  # fmt: skip
    return [Place(*row) for row in connection.execute(nearest_places(), parameters)]


def _kernel_part(apart: float) -> float:
    return OTHER_KERNEL + apart if apart else 0.0


def best(
    connection: Connection, kernel: str | KernelRecord, size: str | None, nearest: bool, wanted: Filter, limit: int
) -> tuple[BestRow, ...]:
    """The optima of a kernel: by name, or those of the same structure, else of the nearest ones.

    Args:
        connection: Of the caller.
        kernel: Name (see ``is_named``), or record of a kernel to compare with.
        size: Label; None for all.
        nearest: Take the nearest size of each device and toolchain, with its distance, where the size is not known.
        wanted: Further conditions.
        limit: Rows at most.
    """
    if isinstance(kernel, str):
        ids = connection.execute(select(schema.kernel.c.id).where(is_named(kernel))).scalars().all()
        near = [_Neighbour(int(found), 0.0) for found in ids]
    else:
        near = _neighbours(connection, kernel, NEIGHBOURS)
        same = [item for item in near if item.distance == 0.0]
        near = same or near
    condition = and_(
        schema.optimum.c.kernel_id.in_([item.id for item in near]), *wanted.everywhere(schema.optimum.c.updated_at)
    )
    query = optima(condition)
    if size is not None and not nearest:
        query = query.where(schema.problem.c.label == encode.text(size, encode.NAME_LENGTH))
    rows = [
        _best_row(row, next(item.distance for item in near if item.id == row.kernel_id))
        for row in connection.execute(query)
    ]
    valid = [row for row in rows if row is not None]
    if size is not None and nearest:
        valid = _nearest(valid, encode.size_values(size))
    return tuple(sorted(valid, key=lambda row: (row.distance, row.device, row.size, row.best_ms)))[:limit]


def similar(connection: Connection, kernel: KernelRecord, limit: int) -> tuple[SimilarRow, ...]:
    """Kernels by the distance of their structure, the nearest first, with the best speed-up known of each."""
    near = _neighbours(connection, kernel, limit)
    table, optimum = schema.kernel, schema.optimum
    gain = func.max(optimum.c.baseline_ms / optimum.c.best_ms)
    rows = connection.execute(
        select(table.c.id, table.c.name, table.c.digest, gain.label("best"),
               func.count(optimum.c.hardware_id.distinct()).label("devices"))
        .outerjoin(optimum, optimum.c.kernel_id == table.c.id)
        .where(table.c.id.in_([item.id for item in near]))
        .group_by(table.c.id)
    )  # fmt: skip
    apart = {item.id: item.distance for item in near}
    found = [SimilarRow(row.name, row.digest, apart[row.id], row.devices, row.best) for row in rows]
    return tuple(sorted(found, key=lambda row: (row.distance, row.kernel, row.kernel_digest)))[:limit]


def _nearest(rows: Sequence[BestRow], size: Mapping[str, int]) -> list[BestRow]:
    """Of each kernel, device and toolchain the row at the nearest size, with its distance."""
    found: dict[tuple[str, str, str, str], BestRow] = {}
    for row in rows:
        apart = size_distance(size, encode.size_values(row.size))
        key = (row.kernel, row.kernel_digest, row.device, row.toolchain)
        if key not in found or (apart, row.size) < (found[key].size_distance, found[key].size):
            found[key] = replace(row, size_distance=apart)
    return list(found.values())


def _neighbours(connection: Connection, kernel: KernelRecord, limit: int) -> list[_Neighbour]:
    """Kernels of the same structure at distance 0, then the nearest by feature vector of the same version.

    A kernel without a source (a recorded space) has no structure: nothing but itself is near it.
    """
    table = schema.kernel
    same = connection.execute(select(table.c.id).where(table.c.digest == kernel.digest)).scalars().all()
    exact = [_Neighbour(int(found), 0.0) for found in same]
    if not kernel.source:
        return exact
    apart = table.c.features.l2_distance(encode.vector(kernel.features, schema.KERNEL_DIMENSIONS))
    nearest = connection.execute(
        select(table.c.id, apart.label("apart"))
        .where(table.c.feature_version == kernel.feature_version, table.c.source != "")
        .order_by(apart)
        .limit(limit + len(same))
    )
    # A different kernel may have the same features: it stays behind the same kernel.
    others = [
        _Neighbour(row.id, max(float(row.apart), 1e-6))
        for row in nearest
        if row.id not in same and row.apart <= FARTHEST_KERNEL
    ]
    return exact + others[:limit]


def _gain(row: Row[Any]) -> float | None:
    """log2 of the speed-up, the proven one where there is one; None if it is no number."""
    if row.proven_speedup is not None:
        return decode.log_ratio(row.proven_speedup, 1.0)
    return decode.log_ratio(row.baseline_ms, row.best_ms)


def _prior(row: Row[Any], scale: _Scale) -> Prior | None:
    genome, gain = decode.genome(row.genes), _gain(row)
    if genome is None or not genome.genes or gain is None:
        return None
    far = scale.far(row)
    what = f"a similar kernel, {row.kernel} (distance {far.kernel:.2f})," if far.kernel else "the same kernel"
    where = "this device" if not far.device else row.device
    tools = " with another toolchain" if far.other_tools else ""
    return Prior(
        genome, row.kernel, row.kernel_digest, row.device, Toolchain(row.platform, row.driver, row.compiler).label,
        row.label, row.best_ms, row.baseline_ms, 2.0**gain, row.variant, far.total,
        f"{what} on {where}{tools} at {row.label}: {_figure(row, gain)}", row.agent, row.updated_at.isoformat(),
        promise=gain * carried_over(far.kernel, far.device, far.size), proven=row.proven_speedup is not None,
    )  # fmt: skip


def _figure(row: Row[Any], gain: float) -> str:
    """The proven figure where there is one."""
    return f"{2.0**gain:.2f}x in the search" if row.proven_speedup is None else f"{row.proven_speedup:.2f}x proven"


def _best_row(row: Row[Any], apart: float) -> BestRow | None:
    genome = decode.genome(row.genes)
    gain = decode.log_ratio(row.baseline_ms, row.best_ms)
    if genome is None or gain is None:
        return None
    return BestRow(
        row.kernel, row.kernel_digest, row.device, row.architecture,
        Toolchain(row.platform, row.driver, row.compiler).label, row.label, row.best_ms, row.baseline_ms, 2.0**gain,
        genome, row.variant, row.source, row.target, decode.strings(row.options), row.agent, row.campaign,
        row.updated_at.isoformat(), apart, _proven(row),
    )  # fmt: skip


def _proven(row: Row[Any]) -> Proven | None:
    if row.proven_speedup is None:
        return None
    return Proven(
        row.proven_baseline_ms, row.proven_best_ms, row.proven_speedup, row.proven_low, row.proven_high,
        row.proven_processes, row.proven_created_at.isoformat(),
    )  # fmt: skip

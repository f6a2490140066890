"""Tables of the knowledge base. ``migrations`` makes them; a test holds the two together.

Hardware stands apart from the toolchain, since a driver update changes timings but not the GPU. An evaluation is
keyed by (variant, problem, hardware, toolchain, campaign, ordinal, is_check): the ordinal is the proposal's number in
its campaign, so that a repeated transaction doubles nothing and a variant that is measured again gets a new row.
``optimum`` holds the best verified variant of each (kernel, hardware, toolchain, problem), kept up to date with
every evaluation, so that the question asked most costs one indexed look-up.
"""

from __future__ import annotations

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB

KERNEL_DIMENSIONS = 64
"""Length of a kernel's feature vector in the base; shorter ones are padded with zeros (distances do not change)."""
DEVICE_DIMENSIONS = 16
"""The same for hardware."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _created() -> Column[object]:
    return Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now())


def _reference(name: str, target: str, nullable: bool = False, cascade: bool = False) -> Column[int]:
    key = ForeignKey(f"{target}.id", ondelete="CASCADE" if cascade else None)
    return Column(name, BigInteger, key, nullable=nullable)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _json(name: str) -> Column[object]:
    return Column(name, JSONB, nullable=False)


hardware = Table(
    "hardware",
    metadata,
    _id(),
    Column("fingerprint", Text, nullable=False, unique=True),
    _text("name"),
    _text("vendor"),
    _text("architecture"),
    _text("kind"),
    Column("units", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("l2_bytes", BigInteger, nullable=False),
    Column("shared_bytes", BigInteger, nullable=False),
    Column("max_threads", Integer, nullable=False),
    Column("clock_mhz", Integer, nullable=False),
    Column("bandwidth_gbs", Double, nullable=False),
    Column("peak_gflops", Double, nullable=False),
    Column("features", VECTOR(DEVICE_DIMENSIONS), nullable=False),
    Column("feature_version", Integer, nullable=False),
    _created(),
)

toolchain = Table(
    "toolchain",
    metadata,
    _id(),
    _text("platform"),
    _text("driver"),
    _text("compiler"),
    _created(),
    UniqueConstraint("platform", "driver", "compiler"),
)

kernel = Table(
    "kernel",
    metadata,
    _id(),
    _text("digest"),
    _text("name"),
    _text("entry"),
    _text("source"),
    Column("features", VECTOR(KERNEL_DIMENSIONS), nullable=False),
    Column("feature_version", Integer, nullable=False),
    _created(),
    UniqueConstraint("digest", "name"),
    Index(None, "name"),
    Index("ix_kernel_features_l2", "features", postgresql_using="hnsw", postgresql_ops={"features": "vector_l2_ops"}),
)

problem = Table(
    "problem",
    metadata,
    _id(),
    _reference("kernel_id", "kernel"),
    _text("label"),
    _json("values"),
    Column("features", ARRAY(Double), nullable=False),
    Column("feature_version", Integer, nullable=False),
    UniqueConstraint("kernel_id", "label"),
)

campaign = Table(
    "campaign",
    metadata,
    _id(),
    Column("token", Uuid, nullable=False, unique=True),
    _text("name"),
    _reference("kernel_id", "kernel"),
    _reference("hardware_id", "hardware"),
    _reference("toolchain_id", "toolchain"),
    Column("seed", BigInteger, nullable=False),
    _text("version"),
    Column("contract", Text, nullable=False, server_default=""),
    _json("settings"),
    Column("summary", JSONB(none_as_null=True)),
    _created(),
    Column("finished_at", DateTime(timezone=True)),
    Index(None, "kernel_id", "hardware_id", "toolchain_id"),
)

genome = Table(
    "genome",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    _json("genes"),
)

variant = Table(
    "variant",
    metadata,
    _id(),
    _reference("kernel_id", "kernel"),
    _text("digest"),
    _text("target"),
    _text("source"),
    _json("options"),
    _json("steps"),
    _reference("genome_id", "genome"),
    _created(),
    UniqueConstraint("kernel_id", "digest"),
    Index(None, "digest"),
    Index(None, "genome_id"),
)

lineage = Table(
    "lineage",
    metadata,
    _id(),
    _reference("campaign_id", "campaign", cascade=True),
    Column("ordinal", Integer, nullable=False),
    _reference("variant_id", "variant"),
    _reference("genome_id", "genome"),
    _reference("proposed_id", "genome"),
    _json("skipped"),
    _text("agent"),
    Column("parents", ARRAY(Text), nullable=False),
    _json("delta"),
    Column("speedup", Double),
    Column("predicted", Double),
    Column("forced", Boolean, nullable=False),
    Column("cached", Boolean, nullable=False),
    _created(),
    UniqueConstraint("campaign_id", "ordinal", "variant_id"),
    Index(None, "variant_id", "campaign_id"),
    Index(None, "genome_id"),
    Index(None, "proposed_id"),
)

evaluation = Table(
    "evaluation",
    metadata,
    _id(),
    _reference("variant_id", "variant"),
    _reference("problem_id", "problem"),
    _reference("hardware_id", "hardware"),
    _reference("toolchain_id", "toolchain"),
    _reference("campaign_id", "campaign", cascade=True),
    Column("ordinal", Integer, nullable=False),
    Column("is_check", Boolean, nullable=False),
    Column("reused", Boolean, nullable=False),
    _text("status"),
    _text("message"),
    _text("stage"),
    Column("samples_ms", ARRAY(Double), nullable=False),
    Column("median_ms", Double),
    Column("low_ms", Double),
    Column("high_ms", Double),
    _json("resources"),
    Column("profile", JSONB(none_as_null=True)),
    Column("max_error", Double),
    Column("fallback", Boolean, nullable=False),
    Column("compile_s", Double, nullable=False),
    Column("device_s", Double, nullable=False),
    _created(),
    UniqueConstraint(
        "variant_id", "problem_id", "hardware_id", "toolchain_id", "campaign_id", "ordinal", "is_check",
        name="uq_evaluation_key",
    ),
    Index(None, "campaign_id", "ordinal"),
    Index("ix_evaluation_optimum", "problem_id", "hardware_id", "toolchain_id", "median_ms"),
)  # fmt: skip

rejection = Table(
    "rejection",
    metadata,
    _id(),
    _reference("campaign_id", "campaign", cascade=True),
    Column("ordinal", Integer, nullable=False),
    _reference("genome_id", "genome"),
    _text("kind"),
    _text("reason"),
    _text("agent"),
    Column("parents", ARRAY(Text), nullable=False),
    _json("delta"),
    _created(),
    UniqueConstraint("campaign_id", "ordinal", "genome_id"),
    Index(None, "genome_id"),
)

optimum = Table(
    "optimum",
    metadata,
    _reference("kernel_id", "kernel"),
    _reference("hardware_id", "hardware"),
    _reference("toolchain_id", "toolchain"),
    _reference("problem_id", "problem"),
    _reference("variant_id", "variant"),
    _reference("genome_id", "genome"),
    _reference("campaign_id", "campaign", cascade=True),
    _text("agent"),
    Column("best_ms", Double, nullable=False),
    Column("baseline_ms", Double, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("kernel_id", "hardware_id", "toolchain_id", "problem_id"),
    Index(None, "hardware_id", "kernel_id"),
    Index(None, "variant_id"),
    Index(None, "genome_id"),
    Index(None, "problem_id"),
)

proof = Table(
    "proof",
    metadata,
    _reference("campaign_id", "campaign", cascade=True),
    _reference("problem_id", "problem"),
    _reference("variant_id", "variant"),
    *(Column(name, Double, nullable=False) for name in ("baseline_ms", "best_ms", "speedup", "low", "high")),
    Column("processes", Integer, nullable=False),
    _created(),
    PrimaryKeyConstraint("campaign_id", "problem_id", "variant_id"),
    Index(None, "variant_id", "problem_id"),
)

state = Table(
    "state",
    metadata,
    _reference("campaign_id", "campaign", cascade=True),
    _text("key"),
    _json("data"),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("campaign_id", "key"),
)

surrogate_metric = Table(
    "surrogate_metric",
    metadata,
    _reference("campaign_id", "campaign", cascade=True),
    Column("ordinal", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("unbiased", Integer, nullable=False),
    Column("rank_correlation", Double),
    Column("decile_recall", Double),
    Column("prune_share", Double, nullable=False),
    _created(),
    PrimaryKeyConstraint("campaign_id", "ordinal"),
)

recommendation = Table(
    "recommendation",
    metadata,
    _reference("kernel_id", "kernel"),
    _reference("hardware_id", "hardware"),
    _reference("genome_id", "genome"),
    _text("dtype"),
    _text("source"),
    _created(),
    PrimaryKeyConstraint("kernel_id", "hardware_id", "dtype", "source"),
    Index(None, "hardware_id", "kernel_id"),
)
"""Parameters that somebody published as the best ones, without a time."""

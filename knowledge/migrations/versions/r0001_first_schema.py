"""The first schema."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SCHEMA = """
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE hardware (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    fingerprint TEXT NOT NULL,
    name TEXT NOT NULL,
    vendor TEXT NOT NULL,
    architecture TEXT NOT NULL,
    kind TEXT NOT NULL,
    units INTEGER NOT NULL,
    memory_bytes BIGINT NOT NULL,
    l2_bytes BIGINT NOT NULL,
    shared_bytes BIGINT NOT NULL,
    max_threads INTEGER NOT NULL,
    clock_mhz INTEGER NOT NULL,
    bandwidth_gbs DOUBLE PRECISION NOT NULL,
    peak_gflops DOUBLE PRECISION NOT NULL,
    features VECTOR(16) NOT NULL,
    feature_version INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_hardware PRIMARY KEY (id),
    CONSTRAINT uq_hardware_fingerprint UNIQUE (fingerprint)
);

CREATE TABLE toolchain (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    platform TEXT NOT NULL,
    driver TEXT NOT NULL,
    compiler TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_toolchain PRIMARY KEY (id),
    CONSTRAINT uq_toolchain_platform_driver_compiler UNIQUE (platform, driver, compiler)
);

CREATE TABLE kernel (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    digest TEXT NOT NULL,
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    source TEXT NOT NULL,
    features VECTOR(64) NOT NULL,
    feature_version INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_kernel PRIMARY KEY (id),
    CONSTRAINT uq_kernel_digest_name UNIQUE (digest, name)
);
CREATE INDEX ix_kernel_features_l2 ON kernel USING hnsw (features vector_l2_ops);
CREATE INDEX ix_kernel_name ON kernel (name);

CREATE TABLE problem (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    kernel_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    values JSONB NOT NULL,
    features DOUBLE PRECISION[] NOT NULL,
    feature_version INTEGER NOT NULL,
    CONSTRAINT pk_problem PRIMARY KEY (id),
    CONSTRAINT uq_problem_kernel_id_label UNIQUE (kernel_id, label),
    CONSTRAINT fk_problem_kernel_id FOREIGN KEY(kernel_id) REFERENCES kernel (id)
);

CREATE TABLE campaign (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    token UUID NOT NULL,
    name TEXT NOT NULL,
    kernel_id BIGINT NOT NULL,
    hardware_id BIGINT NOT NULL,
    toolchain_id BIGINT NOT NULL,
    seed BIGINT NOT NULL,
    version TEXT NOT NULL,
    settings JSONB NOT NULL,
    summary JSONB,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_campaign PRIMARY KEY (id),
    CONSTRAINT uq_campaign_token UNIQUE (token),
    CONSTRAINT fk_campaign_kernel_id FOREIGN KEY(kernel_id) REFERENCES kernel (id),
    CONSTRAINT fk_campaign_hardware_id FOREIGN KEY(hardware_id) REFERENCES hardware (id),
    CONSTRAINT fk_campaign_toolchain_id FOREIGN KEY(toolchain_id) REFERENCES toolchain (id)
);
CREATE INDEX ix_campaign_kernel_id_hardware_id ON campaign (kernel_id, hardware_id);

CREATE TABLE genome (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    digest TEXT NOT NULL,
    genes JSONB NOT NULL,
    CONSTRAINT pk_genome PRIMARY KEY (id),
    CONSTRAINT uq_genome_digest UNIQUE (digest)
);

CREATE TABLE variant (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    kernel_id BIGINT NOT NULL,
    digest TEXT NOT NULL,
    target TEXT NOT NULL,
    source TEXT NOT NULL,
    options JSONB NOT NULL,
    steps JSONB NOT NULL,
    genome_id BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_variant PRIMARY KEY (id),
    CONSTRAINT uq_variant_kernel_id_digest UNIQUE (kernel_id, digest),
    CONSTRAINT fk_variant_kernel_id FOREIGN KEY(kernel_id) REFERENCES kernel (id),
    CONSTRAINT fk_variant_genome_id FOREIGN KEY(genome_id) REFERENCES genome (id)
);
CREATE INDEX ix_variant_digest ON variant (digest);

CREATE TABLE lineage (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    campaign_id BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    variant_id BIGINT NOT NULL,
    genome_id BIGINT NOT NULL,
    proposed_id BIGINT NOT NULL,
    skipped JSONB NOT NULL,
    agent TEXT NOT NULL,
    parents TEXT[] NOT NULL,
    delta JSONB NOT NULL,
    speedup DOUBLE PRECISION,
    predicted DOUBLE PRECISION,
    forced BOOLEAN NOT NULL,
    cached BOOLEAN NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_lineage PRIMARY KEY (id),
    CONSTRAINT uq_lineage_campaign_id_ordinal_variant_id UNIQUE (campaign_id, ordinal, variant_id),
    CONSTRAINT fk_lineage_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE,
    CONSTRAINT fk_lineage_variant_id FOREIGN KEY(variant_id) REFERENCES variant (id),
    CONSTRAINT fk_lineage_genome_id FOREIGN KEY(genome_id) REFERENCES genome (id),
    CONSTRAINT fk_lineage_proposed_id FOREIGN KEY(proposed_id) REFERENCES genome (id)
);
CREATE INDEX ix_lineage_variant_id ON lineage (variant_id);

CREATE TABLE evaluation (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    variant_id BIGINT NOT NULL,
    problem_id BIGINT NOT NULL,
    hardware_id BIGINT NOT NULL,
    toolchain_id BIGINT NOT NULL,
    campaign_id BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    is_check BOOLEAN NOT NULL,
    reused BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    message TEXT NOT NULL,
    stage TEXT NOT NULL,
    samples_ms DOUBLE PRECISION[] NOT NULL,
    median_ms DOUBLE PRECISION,
    low_ms DOUBLE PRECISION,
    high_ms DOUBLE PRECISION,
    resources JSONB NOT NULL,
    profile JSONB,
    max_error DOUBLE PRECISION,
    fallback BOOLEAN NOT NULL,
    compile_s DOUBLE PRECISION NOT NULL,
    device_s DOUBLE PRECISION NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_evaluation PRIMARY KEY (id),
    CONSTRAINT uq_evaluation_key UNIQUE (
        variant_id, problem_id, hardware_id, toolchain_id, campaign_id, ordinal, is_check
    ),
    CONSTRAINT fk_evaluation_variant_id FOREIGN KEY(variant_id) REFERENCES variant (id),
    CONSTRAINT fk_evaluation_problem_id FOREIGN KEY(problem_id) REFERENCES problem (id),
    CONSTRAINT fk_evaluation_hardware_id FOREIGN KEY(hardware_id) REFERENCES hardware (id),
    CONSTRAINT fk_evaluation_toolchain_id FOREIGN KEY(toolchain_id) REFERENCES toolchain (id),
    CONSTRAINT fk_evaluation_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
);
CREATE INDEX ix_evaluation_campaign_id_ordinal ON evaluation (campaign_id, ordinal);
CREATE INDEX ix_evaluation_optimum ON evaluation (problem_id, hardware_id, toolchain_id, median_ms);

CREATE TABLE rejection (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    campaign_id BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    genome_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    agent TEXT NOT NULL,
    parents TEXT[] NOT NULL,
    delta JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_rejection PRIMARY KEY (id),
    CONSTRAINT uq_rejection_campaign_id_ordinal_genome_id UNIQUE (campaign_id, ordinal, genome_id),
    CONSTRAINT fk_rejection_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE,
    CONSTRAINT fk_rejection_genome_id FOREIGN KEY(genome_id) REFERENCES genome (id)
);

CREATE TABLE optimum (
    kernel_id BIGINT NOT NULL,
    hardware_id BIGINT NOT NULL,
    toolchain_id BIGINT NOT NULL,
    problem_id BIGINT NOT NULL,
    variant_id BIGINT NOT NULL,
    genome_id BIGINT NOT NULL,
    campaign_id BIGINT NOT NULL,
    agent TEXT NOT NULL,
    best_ms DOUBLE PRECISION NOT NULL,
    baseline_ms DOUBLE PRECISION NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_optimum PRIMARY KEY (kernel_id, hardware_id, toolchain_id, problem_id),
    CONSTRAINT fk_optimum_kernel_id FOREIGN KEY(kernel_id) REFERENCES kernel (id),
    CONSTRAINT fk_optimum_hardware_id FOREIGN KEY(hardware_id) REFERENCES hardware (id),
    CONSTRAINT fk_optimum_toolchain_id FOREIGN KEY(toolchain_id) REFERENCES toolchain (id),
    CONSTRAINT fk_optimum_problem_id FOREIGN KEY(problem_id) REFERENCES problem (id),
    CONSTRAINT fk_optimum_variant_id FOREIGN KEY(variant_id) REFERENCES variant (id),
    CONSTRAINT fk_optimum_genome_id FOREIGN KEY(genome_id) REFERENCES genome (id),
    CONSTRAINT fk_optimum_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
);
CREATE INDEX ix_optimum_hardware_id_kernel_id ON optimum (hardware_id, kernel_id);
CREATE INDEX ix_optimum_variant_id ON optimum (variant_id);

CREATE TABLE state (
    campaign_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    data JSONB NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_state PRIMARY KEY (campaign_id, key),
    CONSTRAINT fk_state_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
);

CREATE TABLE surrogate_metric (
    campaign_id BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    count INTEGER NOT NULL,
    unbiased INTEGER NOT NULL,
    rank_correlation DOUBLE PRECISION,
    decile_recall DOUBLE PRECISION,
    prune_share DOUBLE PRECISION NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_surrogate_metric PRIMARY KEY (campaign_id, ordinal),
    CONSTRAINT fk_surrogate_metric_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
);
"""


def upgrade() -> None:
    """Makes every table in an empty base."""
    for statement in _SCHEMA.split(";"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    """There is nothing before the first schema.

    Raises:
        NotImplementedError: Always; a base is removed by removing it.
    """
    raise NotImplementedError("the first schema cannot be taken back; drop the database instead")

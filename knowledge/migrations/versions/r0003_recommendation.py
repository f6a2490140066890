"""Parameters that somebody published as the best ones, without a time."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


_RECOMMENDATION = """
CREATE TABLE recommendation (
    kernel_id BIGINT NOT NULL,
    hardware_id BIGINT NOT NULL,
    genome_id BIGINT NOT NULL,
    dtype TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_recommendation PRIMARY KEY (kernel_id, hardware_id, dtype, source),
    CONSTRAINT fk_recommendation_kernel_id_kernel FOREIGN KEY (kernel_id) REFERENCES kernel (id),
    CONSTRAINT fk_recommendation_hardware_id_hardware FOREIGN KEY (hardware_id) REFERENCES hardware (id),
    CONSTRAINT fk_recommendation_genome_id_genome FOREIGN KEY (genome_id) REFERENCES genome (id)
);
CREATE INDEX ix_recommendation_hardware_id_kernel_id ON recommendation (hardware_id, kernel_id);
"""


def upgrade() -> None:
    """Adds the table."""
    op.execute(_RECOMMENDATION)


def downgrade() -> None:
    """Refused: see the first revision."""
    raise NotImplementedError("a knowledge base is never downgraded; restore a backup instead")

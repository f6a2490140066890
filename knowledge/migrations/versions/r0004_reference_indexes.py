"""What refers to a genome, a size or a variant is found at once, when campaigns are deleted and priors looked up."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


_INDEXES = (
    "CREATE INDEX ix_variant_genome_id ON variant (genome_id)",
    "CREATE INDEX ix_lineage_genome_id ON lineage (genome_id)",
    "CREATE INDEX ix_lineage_proposed_id ON lineage (proposed_id)",
    "CREATE INDEX ix_rejection_genome_id ON rejection (genome_id)",
    "CREATE INDEX ix_optimum_genome_id ON optimum (genome_id)",
    "CREATE INDEX ix_optimum_problem_id ON optimum (problem_id)",
    "CREATE INDEX ix_lineage_variant_id_campaign_id ON lineage (variant_id, campaign_id)",
    "DROP INDEX ix_lineage_variant_id",
    "CREATE INDEX ix_campaign_kernel_id_hardware_id_toolchain_id ON campaign (kernel_id, hardware_id, toolchain_id)",
    "DROP INDEX ix_campaign_kernel_id_hardware_id",
)


def upgrade() -> None:
    """Adds the indexes."""
    for statement in _INDEXES:
        op.execute(statement)


def downgrade() -> None:
    """Refused: see the first revision."""
    raise NotImplementedError("a knowledge base is never downgraded; restore a backup instead")

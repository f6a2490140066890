"""What counts as right is kept beside each campaign, and final proofs beside what the search measured."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


_PROOF = """
CREATE TABLE proof (
    campaign_id BIGINT NOT NULL,
    problem_id BIGINT NOT NULL,
    variant_id BIGINT NOT NULL,
    baseline_ms DOUBLE PRECISION NOT NULL,
    best_ms DOUBLE PRECISION NOT NULL,
    speedup DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION NOT NULL,
    high DOUBLE PRECISION NOT NULL,
    processes INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_proof PRIMARY KEY (campaign_id, problem_id, variant_id),
    CONSTRAINT fk_proof_campaign_id_campaign FOREIGN KEY (campaign_id) REFERENCES campaign (id) ON DELETE CASCADE,
    CONSTRAINT fk_proof_problem_id_problem FOREIGN KEY (problem_id) REFERENCES problem (id),
    CONSTRAINT fk_proof_variant_id_variant FOREIGN KEY (variant_id) REFERENCES variant (id)
);
CREATE INDEX ix_proof_variant_id_problem_id ON proof (variant_id, problem_id);
"""


def upgrade() -> None:
    """Adds column and table; campaigns before them have an unknown contract and no proofs."""
    op.execute("ALTER TABLE campaign ADD COLUMN contract TEXT DEFAULT '' NOT NULL")
    op.execute(_PROOF)


def downgrade() -> None:
    """Refused: see the first revision."""
    raise NotImplementedError("a knowledge base is never downgraded; restore a backup instead")

"""What counts as right is kept beside each campaign: outcomes under another contract prove nothing."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column; campaigns before it have an unknown contract."""
    op.execute("ALTER TABLE campaign ADD COLUMN contract TEXT DEFAULT '' NOT NULL")


def downgrade() -> None:
    """Refused: see the first revision."""
    raise NotImplementedError("a knowledge base is never downgraded; restore a backup instead")

"""What Alembic runs: the revisions, on the connection that ``knowledge.migrate`` hands over."""

from __future__ import annotations

from alembic import context

from knowledge.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

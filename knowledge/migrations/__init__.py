"""Alembic's folder, shipped inside the package and run by ``knowledge.migrate``."""

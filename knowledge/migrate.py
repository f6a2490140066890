"""Brings a base to the schema of this version of evo-tune. Several clients may try at once."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import ProgrammingError

from knowledge.errors import KnowledgeError

_LOCK = 0x45564F54554E45  # "EVOTUNE": the advisory lock that serialises migrations


def current(connection: Connection) -> str | None:
    """Revision of the base; None when it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """Newest revision that this version of evo-tune knows."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None, "the package holds no migrations"
    return revision


def migrate(connection: Connection, revision: str = "head") -> None:
    """Upgrades the base in the connection's transaction: all of it or nothing.

    Raises:
        KnowledgeError: If a newer evo-tune made the base, or the role may not change it.
    """
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    before = current(connection)
    if before == head() and revision == "head":
        return
    for limit in ("statement_timeout", "lock_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))  # an index of a large base takes its time
    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, revision)
    except CommandError as error:
        raise KnowledgeError(
            f"the knowledge base has revision {before}, which this version of evo-tune does not know",
            "a newer evo-tune made it: upgrade evo-tune, or use another base",
        ) from error
    except ProgrammingError as error:
        raise KnowledgeError(
            f"the knowledge base cannot be set up: {str(error.orig).splitlines()[0]}",
            "let its owner run evo-tune once, with the pgvector extension available on the server",
        ) from error


def _config() -> Config:
    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config

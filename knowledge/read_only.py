"""A question in SQL that changes nothing: one statement, read-only, with a time limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import Connection, text

from knowledge.errors import KnowledgeError

_READER = "pg_read_all_data"


@dataclass(frozen=True)
class Answer:
    """Names of the columns, and rows; ``more`` is True if there are further ones."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


def answer(connection: Connection, statement: str, limit: int, timeout_s: float) -> Answer:
    """Runs one statement in a read-only transaction.

    A superuser (of the embedded server, say) asks as a role that may read tables and nothing else: read-only
    transactions would still let it read files and run programs of the server. The statement is prepared, which Postgres
    refuses for more than one at once: nothing can end the transaction and go on outside it.

    Args:
        connection: Of the caller.
        statement: SQL.
        limit: Rows at most.
        timeout_s: Seconds after which it is cancelled.

    Raises:
        KnowledgeError: With what Postgres says.
    """
    connection.execute(text("SET TRANSACTION READ ONLY"))
    connection.execute(text("SELECT set_config('statement_timeout', :ms, true)"), {"ms": str(round(timeout_s * 1000))})
    if connection.execute(text("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")).scalar_one():
        connection.execute(text(f"SET LOCAL ROLE {_READER}"))
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    try:
        with driver.cursor() as cursor:
            cursor.execute(statement.encode(), prepare=True)
            if cursor.description is None:
                return Answer((), (), False)
            rows = cursor.fetchmany(limit + 1)
            return Answer(tuple(column.name for column in cursor.description), tuple(rows[:limit]), len(rows) > limit)
    except (psycopg.Error, UnicodeEncodeError) as error:
        where = f"after {timeout_s:g} s" if isinstance(error, psycopg.errors.QueryCanceled) else "Postgres says"
        raise KnowledgeError(f"the statement failed, {where}: {str(error).splitlines()[0]}") from None

"""Rows as JSON, many at a time: one statement and one parameter for thousands of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, text

BATCH = 4000
_GROWN = ("evaluation", "lineage", "variant")


def insert_rows(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> int:
    """Inserts rows that all have the same columns, leaves those out whose key is there, and returns how many were new.

    Postgres itself turns the JSON into the types of the columns.
    """
    waiting, fresh = iter(rows), 0
    while batch := list(islice(waiting, BATCH)):
        names = ", ".join(f'"{table.c[name].name}"' for name in batch[0])
        statement = text(
            f"INSERT INTO {table.name} ({names}) SELECT {names} "
            f"FROM jsonb_populate_recordset(NULL::{table.name}, CAST(:rows AS jsonb)) ON CONFLICT DO NOTHING"
        )
        fresh += connection.execute(statement, {"rows": json.dumps(batch)}).rowcount
    return fresh


def count_again(connection: Connection) -> None:
    """Has Postgres look at the tables that have just grown: plans for a handful of rows take minutes on thousands."""
    connection.execute(text(f"ANALYZE {', '.join(_GROWN)}"))

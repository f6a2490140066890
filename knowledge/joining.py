"""A base as a file, and such a file into another base: rows find one another by their natural keys.

The file holds a line of JSON a row, ``["table", {column: value}]``, after a first line that names format and revision.
References are ids of the file; they are replaced by those of the base that takes it in. Any table of the schema
travels, so that a new one needs nothing here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import Connection, Table, UniqueConstraint, text
from sqlalchemy.exc import DBAPIError

from evaluator.recording import OPENERS, UNREADABLE
from knowledge import schema
from knowledge.champions import ORIGIN
from knowledge.errors import KnowledgeError
from knowledge.json_rows import BATCH, count_again, insert_rows
from knowledge.migrate import current
from knowledge.optimum import elect_again

FORMAT = "evo-tune-base/1"
_TABLES = {table.name: table for table in schema.metadata.sorted_tables}
Row = dict[str, Any]


def is_base(path: Path) -> bool:
    """True if the file begins as one that ``export_base`` wrote."""
    try:
        with _opened(path, "rt") as file:
            return FORMAT in file.readline(200)
    except UNREADABLE:
        return False


def export_base(connection: Connection, path: Path) -> int:
    """Writes every row, as of one moment; the file appears when it is complete. Returns the number of rows.

    Where campaign files lie on this machine stays here.
    """
    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        with _opened(partial, "wt") as file:
            count = _write(connection, file)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _write(connection: Connection, file: TextIO) -> int:
    print(json.dumps({"format": FORMAT, "revision": current(connection)}), file=file)
    count = 0
    for name, table in _TABLES.items():
        key = ", ".join(column.name for column in table.primary_key)
        kept = f"WHERE key <> '{ORIGIN}'" if name == "state" else ""
        query = text(f"SELECT CAST(to_jsonb(t) AS text) FROM {name} t {kept} ORDER BY {key}")
        for (row,) in connection.execution_options(stream_results=True, max_row_buffer=1000).execute(query):
            file.write(f'["{name}", {row}]\n')
            count += 1
    return count


@dataclass
class _Join:
    """What is known while a file is read.

    Attributes:
        ids: By table, id in the file -> id in the base.
        fresh: Rows that were new.
        contested: Keys of optima that the base had already.
    """

    connection: Connection
    path: Path
    ids: dict[str, dict[int, int]] = field(default_factory=lambda: {name: {} for name in _TABLES})
    rows: int = 0
    fresh: int = 0
    contested: list[Row] = field(default_factory=list)


def join_base(connection: Connection, path: Path) -> tuple[int, int]:
    """Takes in what ``export_base`` wrote: (rows in the file, rows that the base did not have).

    Raises:
        KnowledgeError: If the file is damaged or from a newer evo-tune; with the line.
    """
    join = _Join(connection, path)
    with _opened(path, "rt") as file:
        lines = _lines(file, path)
        _check_head(next(lines, (1, None)), current(connection), path)
        for name, group in groupby((_row(line, number, path) for number, line in lines), key=lambda item: item[1]):
            while batch := list(islice(group, BATCH)):
                _take(join, _TABLES[name], [row for _, _, row in batch], batch[0][0])
    count_again(connection)
    elect_again(connection, join.contested)
    return join.rows, join.fresh


def _take(join: _Join, table: Table, rows: list[Row], line: int) -> None:
    """Inserts a batch, and learns what its ids are called in the base."""
    where = f"{join.path}: line {line} and after it, {table.name}"
    names = rows[0].keys()
    if any(row.keys() != names for row in rows) or not names <= set(table.columns.keys()):
        raise KnowledgeError(f"{where}: expected rows with the columns {', '.join(table.columns.keys())}")
    here = [_translated(join, table, row, where) for row in rows]
    try:
        if table is schema.optimum:
            join.contested += _known(join.connection, here)
        join.rows += len(here)
        join.fresh += insert_rows(join.connection, table, ({k: v for k, v in row.items() if k != "id"} for row in here))
        if "id" in table.c:
            join.ids[table.name].update(_ids(join.connection, table, here))
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise KnowledgeError(f"{where}: {str(error.orig).splitlines()[0]}") from None


def _translated(join: _Join, table: Table, row: Row, where: str) -> Row:
    changed = {}
    for column in table.columns:
        for key in column.foreign_keys:
            old = row.get(column.name)
            new = join.ids[key.column.table.name].get(old) if isinstance(old, int) else None
            if new is None:
                raise KnowledgeError(
                    f"{where}: {column.name}: the file holds no {key.column.table.name} {old!r} before"
                )
            changed[column.name] = new
    return {**row, **changed}


def _ids(connection: Connection, table: Table, rows: list[Row]) -> dict[int, int]:
    """Id in the file -> id in the base, by the natural key."""
    (key,) = (item for item in table.constraints if isinstance(item, UniqueConstraint))
    columns = ", ".join(column.name for column in key.columns)
    query = text(
        f"SELECT theirs.id AS old, ours.id AS new FROM jsonb_populate_recordset(NULL::{table.name}, "
        f"CAST(:rows AS jsonb)) theirs JOIN {table.name} ours USING ({columns})"
    )
    keyed = [{"id": row["id"], **{column.name: row[column.name] for column in key.columns}} for row in rows]
    return {found.old: found.new for found in connection.execute(query, {"rows": json.dumps(keyed)})}


def _known(connection: Connection, rows: list[Row]) -> list[Row]:
    """The keys among these optima that the base has."""
    names = [column.name for column in schema.optimum.primary_key]
    query = text(
        f"SELECT {', '.join(names)} FROM jsonb_populate_recordset(NULL::optimum, CAST(:rows AS jsonb)) theirs "
        f"JOIN optimum ours USING ({', '.join(names)})"
    )
    return [dict(row._mapping) for row in connection.execute(query, {"rows": json.dumps(rows)})]


def _row(line: str, number: int, path: Path) -> tuple[int, str, Row]:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise KnowledgeError(f"{path}:{number}:{error.colno}: no valid JSON: {error.msg}") from None
    match data:
        case [str(name), dict(row)] if name in _TABLES:
            return number, name, row
    known = ", ".join(_TABLES)
    raise KnowledgeError(f'{path}:{number}: expected ["table", {{column: value}}], the table one of {known}')


def _lines(file: TextIO, path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(file, 1):
            yield number, line
    except UNREADABLE as error:
        raise KnowledgeError(f"{path}: cannot be read beyond line {number}: {error}") from None


def _check_head(first: tuple[int, str | None], revision: str | None, path: Path) -> None:
    try:
        head = json.loads(first[1] or "")
        known = isinstance(head, Mapping) and head["format"] == FORMAT
    except (json.JSONDecodeError, KeyError):
        known = False
    if not known:
        raise KnowledgeError(f"{path}:1: expected a base that `evo-tune kb export` wrote ({FORMAT})")
    if str(head.get("revision") or "") > (revision or ""):
        raise KnowledgeError(f"{path}: has revision {head['revision']}, this base {revision}", "upgrade evo-tune")


def _opened(path: Path, mode: str) -> Any:
    return OPENERS.get(path.suffix, open)(path, mode, encoding="utf-8")  # type: ignore[operator]

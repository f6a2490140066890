"""The plans of the queries that some work makes, as Postgres explains them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, event


def scanned(connection: Connection, work: Callable[[Connection], object]) -> set[str]:
    """Tables that any query of the work reads from one end to the other.

    Args:
        connection: With a base behind it.
        work: What makes the queries; it is run once.
    """
    return {
        str(node["Relation Name"])
        for plan in plans(connection, work) for node in _nodes(plan)
        if node["Node Type"] == "Seq Scan"
    }  # fmt: skip


def plans(connection: Connection, work: Callable[[Connection], object]) -> list[dict[str, Any]]:
    """The plan of each query of the work."""
    asked: list[tuple[str, Any]] = []

    def remember(_c: object, _cursor: object, statement: str, parameters: Any, _context: object, _many: bool) -> None:
        asked.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", remember)
    try:
        work(connection)
    finally:
        event.remove(connection, "before_cursor_execute", remember)
    found = []
    for statement, parameters in asked:
        row = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
        found.append((row if isinstance(row, list) else json.loads(row))[0]["Plan"])
    return found


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)

"""Transactions that survive a lost server: reconnect with back-off, restart the embedded one, repeat the work.

The work is repeated as a whole, so it must be safe to run twice: everything is written ``ON CONFLICT`` on natural
keys, which also covers a commit whose acknowledgement was lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from knowledge.embedded import EmbeddedServer
from knowledge.errors import KnowledgeAway, KnowledgeError
from knowledge.url import scrubbed, shown

T = TypeVar("T")

RETRY_S = 60.0
FIRST_DELAY_S = 0.05
LONGEST_DELAY_S = 2.0
_SESSION = (
    "SET statement_timeout = '30s'",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET TIME ZONE 'UTC'",
)
_NETWORK = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 3,
            "tcp_user_timeout": 20_000, "application_name": "evo-tune"}  # fmt: skip
_TRANSIENT = ("08", "23503", "40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03")
"""SQLSTATEs after which the same work is tried again; 23503: a row that it had found was deleted meanwhile."""
_AWAY = (*_TRANSIENT, "25006", "28", "42501", "53", "57", "58")
"""After which it may succeed when somebody has seen to the server: full, shut, standing by, or closed to this role."""


class Database:
    """An engine on one URL, and the embedded server behind it if there is one."""

    def __init__(self, url: URL, server: EmbeddedServer | None = None, patience_s: float = RETRY_S) -> None:
        """``patience_s``: how long work is repeated while the server is away."""
        self.url = url
        self._patience_s = patience_s
        self._server = server
        self._engine = _engine(url)

    def start(self) -> None:
        """Makes sure that the embedded server runs; nothing for a server of somebody else.

        Raises:
            KnowledgeError: If it does not come up.
        """
        if self._server is not None:
            self._server.ensure()

    def run(self, work: Callable[[Connection], T], retry_s: float | None = None) -> T:
        """Runs ``work`` in one transaction and returns its result; repeats it after a lost connection.

        Raises:
            KnowledgeAway: If the server stays away for ``retry_s`` seconds (None: as long as was said at first).
            KnowledgeError: If it refuses the work.
        """
        deadline = time.monotonic() + (self._patience_s if retry_s is None else retry_s)
        delay = FIRST_DELAY_S
        while True:
            try:
                with self._engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not _transient(error) or time.monotonic() + delay > deadline:
                    raise self._explained(error) from None
            self._engine.dispose()
            time.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_S)
            self._start_again()

    def close(self) -> None:
        """Ends the connections, then lets go of the embedded server. Idempotent."""
        self._engine.dispose()
        if self._server is not None:
            self._server.close()

    def _start_again(self) -> None:
        try:
            self.start()
        except KnowledgeError as error:
            raise KnowledgeAway(error.message, error.hint) from None

    def _explained(self, error: DBAPIError) -> KnowledgeError:
        lines = scrubbed(str(error.orig), self.url).strip().splitlines() or ["no reason given"]
        state = _state(error)
        if error.connection_invalidated or state is None:
            return KnowledgeAway(
                f"cannot reach the knowledge base {shown(self.url)}: {lines[0]}",
                "start the server or correct its URL; without a URL the embedded server is used",
            )
        if state == "57014":
            return KnowledgeAway(f"the knowledge base {shown(self.url)} took too long to answer", "try again later")
        kind = KnowledgeAway if state.startswith(_AWAY) else KnowledgeError
        return kind(f"the knowledge base {shown(self.url)} refused: {lines[0]}", "check the role's rights")


def _state(error: DBAPIError) -> str | None:
    return error.orig.sqlstate if isinstance(error.orig, psycopg.Error) else None


def _transient(error: DBAPIError) -> bool:
    """True if the same work may succeed on a new connection: lost, refused, shutting down, deadlocked."""
    state = _state(error)
    if state is None:
        lost = (psycopg.OperationalError, psycopg.InterfaceError)
        return error.connection_invalidated or isinstance(error.orig, lost)
    return error.connection_invalidated or state.startswith(_TRANSIENT)


def _engine(url: URL) -> Engine:
    engine = create_engine(url, hide_parameters=True, pool_size=2, max_overflow=2, connect_args=dict(_NETWORK))

    def configure(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
        connection.commit()

    event.listen(engine, "connect", configure)
    return engine

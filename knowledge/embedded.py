"""The default server: a real Postgres from a wheel, on a unix socket in the user's data folder, supervised by us.

Who stops it: every client holds a shared lock on ``clients.lock`` for as long as it has the base open. The last one
to leave gets the lock exclusively and stops the server before it goes. If the last client was killed instead, the
supervisor process (``pg_supervisor``) sees within a second that nobody holds the lock, and stops it. So the server
lives exactly as long as somebody uses it, and a stop never meets a starting client: stopping needs the lock
exclusively, using it needs the lock shared.

A handle never trusts a process id or a file: the server is there when a connection to it succeeds and it says that
its data folder is ours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psycopg
from sqlalchemy import URL

from knowledge import pg_supervisor
from knowledge.errors import KnowledgeError
from knowledge.pg_layout import Layout, binaries, prepare

ROLE = "evo_tune"
DATABASE = "evo_tune"
START_S = 60.0
STOP_S = 30.0
LOG_BYTES = 4 * 2**20
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "64",
    "shared_buffers": "64MB",
    "max_parallel_workers_per_gather": "0",  # the cores belong to the kernels that are measured
    "jit": "off",
    "log_min_messages": "warning",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}


class EmbeddedServer:
    """A client's hold on the embedded server of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        """Prepares the folders and takes the client's lock; ``ensure`` starts the server.

        Raises:
            KnowledgeError: If the folders cannot be made.
        """
        self._layout = prepare(data_dir)
        self._held: IO[bytes] | None = _opened(self._layout.clients_lock)
        fcntl.flock(self._held, fcntl.LOCK_SH)

    @property
    def layout(self) -> Layout:
        """Where its files are."""
        return self._layout

    @property
    def url(self) -> URL:
        """SQLAlchemy URL of the base on this server."""
        return URL.create(
            "postgresql+psycopg", username=ROLE, database=DATABASE, query={"host": str(self._layout.sockets)}
        )

    def pid(self) -> int | None:
        """Process id of the running server, or None."""
        pid = pg_supervisor.cluster_pid(self._layout.data)
        return pid if pid is not None and pg_supervisor.serves(pid, self._layout.data) else None

    def ensure(self) -> None:
        """Returns once the server answers; starts it (and makes its data folder) if it does not.

        Raises:
            KnowledgeError: If it does not come up; with the end of its log.
        """
        if self._answers():
            return
        with _locked(self._layout.start_lock):
            if self._answers():
                return
            program = binaries(self._layout)
            self._initialise(program)
            self._start(program)

    def close(self) -> None:
        """Lets go of the server; the last client stops it. Idempotent."""
        if self._held is None:
            return
        with contextlib.closing(self._held) as held:
            self._held = None
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            self._stop()

    def _answers(self) -> bool:
        try:
            with self._connect("postgres") as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.Error:
            return False
        return row is not None and os.path.realpath(str(row[0])) == os.path.realpath(self._layout.data)

    def _connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self._layout.sockets), port=5432, user=ROLE, dbname=database, connect_timeout=5, autocommit=True
        )

    def _initialise(self, program: Path) -> None:
        """``initdb`` into a folder beside the final one, so that an interrupted one leaves nothing half made."""
        data = self._layout.data
        if (data / "PG_VERSION").exists():
            return
        fresh = data.with_name("data.new")
        if fresh.exists():
            fresh.rename(data.with_name(f"data.broken-{time.time_ns()}"))
        fresh.mkdir(mode=0o700)
        if self._layout.account is not None:
            os.chown(fresh, self._layout.account.uid, self._layout.account.gid)
        command = [str(program / "initdb"), "-D", str(fresh), "-U", ROLE, "--auth=trust", "--encoding=UTF8",
                   "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"]  # fmt: skip
        account = self._layout.account
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd="/", env=_environment(), stdin=subprocess.DEVNULL,
            user=None if account is None else account.uid, group=None if account is None else account.gid,
            extra_groups=None if account is None else [], umask=0o077, start_new_session=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise KnowledgeError(
                f"initdb failed in {fresh}: {done.stderr.strip()[-500:]}", "free some disk space, or set EVO_TUNE_HOME"
            )
        (fresh / "pg_hba.conf").write_text(f"local all {ROLE} trust\n")
        fresh.rename(data)

    def _start(self, program: Path) -> None:
        layout = self._layout
        settings = {**_SETTINGS, "unix_socket_directories": str(layout.sockets)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        account = layout.account
        uid, gid = (-1, -1) if account is None else (account.uid, account.gid)
        command = [sys.executable, "-I", "-S", pg_supervisor.__file__, str(layout.data), str(layout.clients_lock),
                   str(uid), str(gid), str(program / "postgres"), "-D", str(layout.data), *options]  # fmt: skip
        deadline = time.monotonic() + START_S
        while True:
            with _log(layout.log) as log:
                supervisor = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(), cwd="/",
                    start_new_session=True,
                )  # fmt: skip
            while supervisor.poll() is None and time.monotonic() < deadline:
                if self._answers():
                    self._create_database()
                    return
                time.sleep(0.02)
            # It ended early: backends of a killed server may still hold the shared memory for a moment.
            if time.monotonic() > deadline - START_S + 10.0 or supervisor.poll() is None:
                break
            time.sleep(0.2)
        supervisor.terminate()
        raise KnowledgeError(
            f"the embedded Postgres does not start: {_last_lines(layout.log)}",
            f"see {layout.log}; another EVO_TUNE_HOME or a database URL avoids it",
        )

    def _create_database(self) -> None:
        with self._connect("postgres") as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _stop(self) -> None:
        pid = self.pid()
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + STOP_S
        while time.monotonic() < deadline and pg_supervisor.serves(pid, self._layout.data):
            time.sleep(0.01)


def _environment() -> dict[str, str]:
    """Nothing of the user's ``PG*`` variables: they would point the programs elsewhere."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _opened(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with _opened(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _log(path: Path) -> IO[bytes]:
    too_long = path.exists() and path.stat().st_size > LOG_BYTES
    return path.open("wb" if too_long else "ab")


def _last_lines(path: Path) -> str:
    return " | ".join(path.read_text(errors="replace").strip().splitlines()[-3:])

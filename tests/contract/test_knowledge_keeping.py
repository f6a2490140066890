"""Keeping a real server: it stays when told to, comes back from a backup, and lets a reader read and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from cli.main import app
from evaluator.result import DeviceInfo, Toolchain
from knowledge import server
from knowledge.errors import KnowledgeError
from knowledge.pg_layout import prepare
from knowledge.pg_supervisor import cluster_pid, serves
from knowledge.pg_tools import backup, psql, restore
from knowledge.records import CampaignRecord, KernelRecord
from knowledge.store import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
SECRET = "correct horse 'battery' %41 staple"
ROLE = 'the "reader"; DROP TABLE kernel; --'


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An embedded server's folder that the commands take for the user's."""
    folder = Path(tempfile.mkdtemp(prefix="evo-tune-test-"))
    os.chmod(folder, 0o755)
    monkeypatch.setenv("EVO_TUNE_HOME", str(folder))
    monkeypatch.delenv("EVO_TUNE_DATABASE_URL", raising=False)
    yield folder
    server.stop(folder)
    shutil.rmtree(folder)


def fill(base: KnowledgeBase, name: str) -> int:
    kernel = KernelRecord(name, name, "source", "entry", (1.0,), 1)
    device = DeviceInfo("d", "n", "v", "a", "gpu", 1, 1)
    return base.start_campaign(CampaignRecord("c", kernel, device, Toolchain("p", "d", "c"), 1, "0"), resume=False)


def runs(folder: Path) -> bool:
    data = prepare(folder).data
    pid = cluster_pid(data)
    return pid is not None and serves(pid, data)


def command(*arguments: str) -> str:
    """Output of a command in a process of its own, so that its locks are its own as well."""
    done = subprocess.run(
        [sys.executable, "-c", "from cli.main import main; main()", "kb", *arguments], capture_output=True, text=True,
        check=False, cwd=ROOT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_that_was_started_stays_until_it_is_stopped(home: Path) -> None:
    assert not server.status(None).running and not runs(home)
    assert "kept running" in command("start")
    assert runs(home)
    before = server.status(None)
    assert before.kept and before.embedded and before.revision is None
    assert [server.upgrade(None)[0] for _ in range(2)] == [None, before.newest]
    assert server.start().pid == before.pid  # once more changes nothing
    after = server.status(None)
    assert after.pid == before.pid and after.revision == after.newest
    with KnowledgeBase.open(None) as base:
        assert not server.stop()  # somebody uses it
        assert runs(home) and base.counts()["kernels"] == 0
        assert not server.status(None).kept
    assert not runs(home)
    assert server.stop()


def test_a_backup_comes_back_whole_or_not_at_all(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "base.dump"
    with KnowledgeBase.open(None) as base:
        fill(base, "first")
        backup(None, file)
        fill(base, "second")
        assert base.counts()["kernels"] == 2
        with pytest.raises(KnowledgeError, match="is not empty"):
            restore(None, file, replace=False)
        bad = tmp_path / "bad.dump"
        bad.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])
        with pytest.raises(KnowledgeError, match="pg_restore"):
            restore(None, bad, replace=True)
        assert base.counts()["kernels"] == 2
        restore(None, file, replace=True)
        assert base.counts()["kernels"] == 1
        assert psql(None, ["-c", "SELECT 1", "-o", str(tmp_path / "answer"), "-At"]) == 0
        assert (tmp_path / "answer").read_text() == "1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer", "bad.dump", "base.dump"]
    with pytest.raises(KnowledgeError, match="no such file"):
        restore(None, tmp_path / "none", replace=True)


def test_a_reader_with_a_password_reads_and_nothing_else(home: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(None) as base:
        fill(base, "known")
        with pytest.raises(KnowledgeError, match="has no role"):
            server.grant(None, ROLE, write=False, revoke=False)
        admin = base.where.replace("+psycopg", "")
        with psycopg.connect(admin, autocommit=True) as connection:
            quoted = psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            connection.execute(quoted.format(psycopg.sql.Identifier(ROLE), psycopg.sql.Literal(SECRET)))
            rules = prepare(home).data / "pg_hba.conf"
            rules.write_text(rules.read_text() + "local all all scram-sha-256\n")
            connection.execute("SELECT pg_reload_conf()")
        url = str(server.embedded_url().set(username=ROLE, password=SECRET).render_as_string(hide_password=False))
        with pytest.raises(KnowledgeError) as refused:
            KnowledgeBase.open(url)
        server.grant(None, ROLE, write=False, revoke=False)
        with KnowledgeBase.open(url) as reader:
            assert reader.counts()["kernels"] == 1 and "known" in {row.kernel for row in reader.stats().kernels}
            with pytest.raises(KnowledgeError, match="permission denied") as denied:
                fill(reader, "mine")
            assert reader.sql("SELECT count(*) FROM kernel", 1, 5.0).rows == ((1,),)
        backup(url, tmp_path / "by-reader.dump")
        shown = [str(refused.value), str(denied.value), reader.where, str(server.status(url))]
        shown.append(CliRunner().invoke(app, ["kb", "url", "--url", url]).output)
        wrong = url.replace("correct", "wrong")
        shown.append(CliRunner().invoke(app, ["kb", "stats", "--url", wrong]).output)
        shown.append(CliRunner().invoke(app, ["kb", "backup", "--url", wrong, "-o", str(tmp_path / "x")]).output)
        assert not any("horse" in text or "battery" in text for text in shown)
        server.grant(None, ROLE, write=True, revoke=False)
        with KnowledgeBase.open(url) as writer:
            assert fill(writer, "mine")
        server.grant(None, ROLE, write=False, revoke=True)
        with pytest.raises(KnowledgeError, match="permission denied"):
            KnowledgeBase.open(url)
        assert base.counts()["kernels"] == 2


def test_no_server_of_others_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_TUNE_DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:9/base")
    for arguments in (["start"], ["status"], ["stats"], ["psql"], ["grant", "x"]):
        outcome = CliRunner().invoke(app, ["kb", *arguments])
        assert "hunter2" not in outcome.output and "Traceback" not in outcome.output
    outcome = CliRunner().invoke(app, ["kb", "start"])
    assert outcome.exit_code == 2 and "not ours to start" in outcome.output
    assert CliRunner().invoke(app, ["kb", "url"]).output == "postgresql+psycopg://me:***@127.0.0.1:9/base\n"

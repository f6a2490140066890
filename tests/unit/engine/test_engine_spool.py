"""A campaign whose knowledge base goes away: a real server is stopped and started while it runs, or only after it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import app
from evaluator.result import Status
from evo.evolve import evolve
from evo.progress import SilentObserver
from evo.result import CampaignResult, StopReason
from genome.variant import Variant
from knowledge.connection import Database
from knowledge.embedded import EmbeddedServer
from knowledge.errors import KnowledgeError
from knowledge.filters import Filter
from knowledge.posting import Kind, Posting
from knowledge.records import KernelRecord
from knowledge.spool import Head, Spool, spools
from knowledge.spooled import SpooledBase
from knowledge.store import KnowledgeBase

EVALUATIONS = 40


@dataclass
class Switch:
    """A server of its own. Its clients know its URL alone: nobody but the test starts it."""

    folder: Path
    servers: list[EmbeddedServer] = field(default_factory=list)

    def on(self) -> str:
        self.servers.append(EmbeddedServer(self.folder))
        self.servers[-1].ensure()
        return self.servers[-1].url.render_as_string(hide_password=False)

    def off(self) -> None:
        self.servers.pop().close()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="evo-tune-test-"))
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def switch(folder: Path) -> Iterator[Switch]:
    found = Switch(folder)
    found.on()
    yield found
    while found.servers:
        found.off()


def kernel() -> KernelRecord:
    return KernelRecord(f"spooled {uuid.uuid4()}", uuid.uuid4().hex, "", "k", (0.0,), 1)


@dataclass
class Run:
    """A campaign of the synthetic kernel on the base behind a URL, with things that happen at some measurements."""

    bench: Any
    url: str
    output: Path
    events: dict[int, Callable[[], Any]] = field(default_factory=dict)
    kernel: KernelRecord = field(default_factory=kernel)

    def __call__(self, resume: bool = False, stop_after: int = EVALUATIONS + 1) -> CampaignResult:
        def verdict(variant: Variant, number: int) -> Status | None:
            self.events.get(number, lambda: None)()
            return Status.WRONG if number % 7 == 0 else None

        evaluator = self.bench.evaluator(verdict=verdict)
        base = KnowledgeBase.open(self.url, patience_s=0.2)
        with closing(SpooledBase(base, self.output, lambda: evaluator.clock[0])) as memory:
            parts = replace(self.bench.parts(evaluator), kernel=self.kernel, memory=memory)
            return evolve(self.bench.campaign(EVALUATIONS), parts, observer=SilentObserver(), resume=resume,
                          stop=lambda: len(evaluator.measured) >= stop_after)  # fmt: skip


def stored(url: str, number: int | None) -> list[Any]:
    assert number is not None
    with KnowledgeBase.open(url) as base:
        return base.outcomes(number)


def test_a_server_that_is_stopped_and_started_loses_and_doubles_nothing(
    switch: Switch, bench: Any, tmp_path: Path
) -> None:
    url = switch.servers[0].url.render_as_string(hide_password=False)
    whole = Run(bench, url, tmp_path / "whole")()
    with KnowledgeBase.open(url) as base:
        before = base.counts()
    waited: list[int] = []

    def look() -> None:
        (path,) = spools(tmp_path / "cut")
        waited.append(path.read_bytes().count(b"\n") - 1)

    events: dict[int, Callable[[], Any]] = {5: switch.off, 11: look, 12: switch.on, 25: switch.off, 26: switch.on}
    cut = Run(bench, url, tmp_path / "cut", events)()
    assert waited[0] >= 6 and spools(tmp_path / "cut") == ()
    assert stored(url, cut.campaign_id) == stored(url, whole.campaign_id)
    with KnowledgeBase.open(url) as base:
        after, states = base.counts(), [base.load_state(r.campaign_id or 0, "engine") for r in (whole, cut)]
        first, second = base.history(Filter(), 2)
    assert states[0] is not None and states[0] == states[1]
    assert (first.evaluations, first.failed, first.best) == (second.evaluations, second.failed, second.best)
    assert first.finished and second.finished
    assert after["evaluations"] == before["evaluations"] * 2 and after["rejections"] == before["rejections"] * 2


def test_a_base_that_stays_away_gets_the_results_later(
    switch: Switch, bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.spooled.SETTLE_S", 0.1)
    url = switch.servers[0].url.render_as_string(hide_password=False)
    result = Run(bench, url, tmp_path, {9: switch.off})()
    (note,) = [text for text in result.notes if "kb replay" in text]
    assert str(tmp_path) in note and result.stop is StopReason.EVALUATIONS
    away = CliRunner().invoke(app, ["kb", "replay", str(tmp_path), "--url", url])
    assert away.exit_code == 2 and "cannot reach" in away.output
    switch.on()
    before = stored(url, result.campaign_id)
    (path,) = spools(tmp_path)
    copy = path.read_bytes()
    for again in (False, True):
        done = CliRunner().invoke(app, ["kb", "replay", str(tmp_path), "--url", url])
        assert done.exit_code == 0 and f"of campaign {result.campaign_id}" in done.output
        assert spools(tmp_path) == ()
        found = stored(url, result.campaign_id)
        assert len(found) > len(before) and [row.lineage.generation for row in found] == sorted(
            {row.lineage.generation for row in found}
        )
        if not again:
            once = found
            path.write_bytes(copy)  # the answer to the last write was lost, say
    assert found == once
    with KnowledgeBase.open(url) as base:
        (row,) = base.history(Filter(), 1)
        assert row.finished and row.id == result.campaign_id
    nothing = CliRunner().invoke(app, ["kb", "replay", str(tmp_path), "--url", url, "--json"])
    assert nothing.exit_code == 0 and nothing.output == "[]\n"


def test_what_waits_is_there_when_the_campaign_is_resumed(
    switch: Switch, bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.spooled.SETTLE_S", 0.1)
    url = switch.servers[0].url.render_as_string(hide_password=False)
    run = Run(bench, url, tmp_path, {9: switch.off})
    first = run(stop_after=15)
    assert first.stop is StopReason.INTERRUPTED and len(spools(tmp_path)) == 1
    switch.on()
    run.events.clear()
    second = run(resume=True)
    assert second.campaign_id == first.campaign_id and spools(tmp_path) == ()
    assert second.counts.evaluations == EVALUATIONS
    measured = [row for row in stored(url, second.campaign_id) if not row.cached and row.genome.genes]
    quarantined = [row for row in measured if any(e.stage == "quarantine" for e in row.evaluations)]
    assert len(measured) - len(quarantined) == EVALUATIONS


def test_another_base_does_not_get_them(switch: Switch, tmp_path: Path) -> None:
    token = uuid.uuid4()
    spool = Spool(tmp_path / f"spool-{token.hex}.jsonl", Head(token, "postgresql+psycopg://elsewhere/base"))
    spool.append(Posting(Kind.END, {"summary": {}}))
    url = switch.servers[0].url.render_as_string(hide_password=False)
    busy = CliRunner().invoke(app, ["kb", "replay", str(tmp_path), "--url", url])
    assert busy.exit_code == 2 and "a run that goes on writes to it" in busy.output
    spool.close()
    refused = CliRunner().invoke(app, ["kb", "replay", str(tmp_path), "--url", url])
    assert refused.exit_code == 2 and "does not know its campaign, which was in" in refused.output
    assert len(spools(tmp_path)) == 1 and "Traceback" not in refused.output
    missing = CliRunner().invoke(app, ["kb", "replay", str(tmp_path / "none"), "--url", url])
    assert missing.exit_code == 2 and "no such folder" in missing.output


def test_a_spool_cut_off_in_mid_line_keeps_what_was_whole(tmp_path: Path) -> None:
    path, head = tmp_path / "spool-1.jsonl", Head(uuid.uuid4(), "base")
    postings = [Posting(Kind.STATE, {"key": str(n), "data": {"text": "ä\n", "x": [0.1, None]}}) for n in range(3)]
    with closing(Spool(path, head)) as spool:
        for item in postings:
            spool.append(item)
    whole = path.read_bytes()
    for end in range(whole.rindex(b"\n", 0, -1) + 1, len(whole)):
        path.write_bytes(whole[:end])
        with closing(Spool(path, head)) as spool:
            found = list(spool.postings())
            assert [item.data for item in found] == [item.data for item in postings[:2]] and spool.waiting == 2
            spool.append(postings[2])
            assert [item.data for item in spool.postings()] == [item.data for item in postings]
            assert all(item.at is not None and item.at.tzinfo for item in found) and spool.head == head
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ":1: expected a spool"),
        ('{"format": "evo-tune-spool/9"}\n', ":1: expected a spool"),
        ("[]\n", ":1: expected a spool"),
        ("{HEAD}\nnot JSON\n", ":2: no result"),
        ('{HEAD}\n{"kind": "harm", "at": "2026-01-01T00:00:00+00:00", "data": {}}\n', ":2: no result"),
        ('{HEAD}\n{"kind": "state", "at": "soon", "data": {}}\n', ":2: no result"),
    ],
)
def test_a_damaged_spool_is_one_clear_error(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "spool-1.jsonl"
    head = '{"format": "evo-tune-spool/1", "campaign": "00000000-0000-0000-0000-000000000001", "base": "b"}'
    path.write_text(text.replace("{HEAD}", head))
    with pytest.raises(KnowledgeError) as error:
        Spool(path)
    assert words in str(error.value) and "spool-1.jsonl" in str(error.value)


def test_work_is_tried_again_until_a_server_is_back(switch: Switch) -> None:
    database = Database(switch.servers[0].url)
    with closing(database):
        assert database.run(lambda connection: connection.exec_driver_sql("SELECT 1").scalar_one()) == 1
        switch.off()
        with pytest.raises(KnowledgeError, match="cannot reach"):
            database.run(lambda connection: connection.exec_driver_sql("SELECT 2"), retry_s=0.2)
        back = threading.Timer(0.3, switch.on)
        back.start()
        began = time.monotonic()
        assert database.run(lambda connection: connection.exec_driver_sql("SELECT 3").scalar_one()) == 3
        assert time.monotonic() - began >= 0.25
        back.join()

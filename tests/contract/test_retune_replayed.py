"""``evo-tune retune`` on replayed devices whose timings were altered: what is lost is known from the files alone."""

from __future__ import annotations

import csv
import io
import json
import shutil
import uuid
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.main import app
from evaluator.api import EvaluatorError
from evo.campaign import Campaign, Overrides, load_campaign
from evo.engine import run_campaign
from evo.progress import StopRequest
from evo.result import CampaignResult, StopReason
from evo.retune import Retune
from evo.retune_campaigns import known_campaigns
from evo.retune_check import Look
from evo.retune_plan import Case, Plan, plan_of
from evo.retune_verdict import Figure, Verdict, worst
from knowledge.store import KnowledgeBase

PARAMS = {"bx": [16, 32, 64], "tile": [1, 2, 4]}
ROWS = list(product(*PARAMS.values()))
FIRST, BEST, SECOND = (16, 1), (64, 4), (64, 2)
Times = dict[tuple[int, ...], float]


def original() -> Times:
    """The larger the faster: 9 ms for the first configuration, 1 ms for the last."""
    return {row: 9.0 - number for number, row in enumerate(ROWS)}


class Site:
    """A folder with a campaign on a recorded space of a kernel that nobody else knows."""

    def __init__(self, folder: Path, url: str, kernel: str = "", device: str = "NVIDIA One") -> None:
        self.folder, self.url, self.device = folder, url, device
        self.kernel = kernel or f"kernel_{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        self.campaign = folder / "campaign.yaml"
        self.campaign.write_text(
            "version: 1\ntarget: replay:space.json\nsurrogate: false\nbudget: {evaluations: 30}\noutput: out\n"
        )
        self.write(original())

    def write(self, times: Times, device: str | None = None) -> None:
        rows = [[*row, "ok", ms] for row, ms in times.items()]
        space = {"kernel": self.kernel, "device": device or self.device, "params": PARAMS, "rows": rows}
        (self.folder / "space.json").write_text(json.dumps(space))

    def run(self) -> CampaignResult:
        return run_campaign(load_campaign(self.campaign, Overrides(knowledge=self.url)))

    def retune(self, *arguments: str | Path) -> Result:
        fixed = ("--output", self.folder / "again", "--knowledge", self.url, "--kernel", self.kernel)
        return CliRunner().invoke(app, ["retune", *map(str, (*fixed, *arguments))])


@pytest.fixture
def site(tmp_path: Path, knowledge_base: KnowledgeBase) -> Site:
    """After a campaign has ended there."""
    made = Site(tmp_path / "site", knowledge_base.where)
    assert made.run().comparison.speedup == pytest.approx(9.0)
    return made


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the pictures of campaigns, where nobody looks at their files."""
    monkeypatch.setattr("cli.retune.write_outputs", lambda *arguments: None)


def champion(done: Result) -> dict[str, Any]:
    (found,) = json.loads(done.stdout)["champions"]
    return dict(found)


def test_nothing_is_looked_at_again_where_nothing_changed(site: Site) -> None:
    done = site.retune("--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["verdict"] == "kept" and not data["champions"]
    assert [item["campaign"] for item in data["current"]] == [site.kernel]
    every = site.retune("--all", "--json")
    assert every.exit_code == 0 and champion(every)["now"]["speedup"] == pytest.approx(9.0)


def test_a_champion_that_lost_is_mended_by_what_is_best_now(site: Site) -> None:
    times = original() | {BEST: 3.0, SECOND: 0.9}
    site.write(times)
    done = site.retune("--json", "--budget", "30")
    assert done.exit_code == 3, done.output
    found = champion(done)
    assert found["verdict"] == "mended" and found["changes"] == ["the recording"]
    assert found["then"]["speedup"] == pytest.approx(9.0)
    assert found["now"]["sizes"][0]["best_ms"] == 3.0
    assert found["after"]["sizes"][0]["best_ms"] == min(times.values())
    best = json.loads((Path(found["results"]) / "best.json").read_text())
    assert set(best["options"]) == {"-Dbx=64", "-Dtile=2"}
    assert site.retune().exit_code == 0  # it is the champion now


@pytest.mark.usefixtures("no_pages")
def test_what_cannot_be_mended_is_told_once(site: Site) -> None:
    site.write({row: ms if row == FIRST else 3 * ms for row, ms in original().items()})
    done = site.retune("--csv", "--budget", "30")
    assert done.exit_code == 4, done.output
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["verdict"] == "lost" and row["campaign"] == site.kernel
    assert site.retune().exit_code == 0  # 3x is what this device gives now


@pytest.mark.parametrize(
    "altered",
    [
        pytest.param({row: 2 * ms for row, ms in original().items()}, id="everything takes twice as long"),
        pytest.param(original() | {FIRST: 4.0}, id="the kernel as it is gained"),
        pytest.param(original() | {BEST: 0.5}, id="the champion gained"),
        pytest.param(original() | {SECOND: 30.0}, id="another configuration lost"),
    ],
)
def test_what_is_no_loss_of_the_champion(site: Site, altered: Times) -> None:
    site.write(altered)
    done = site.retune("--json")
    assert done.exit_code == 0, done.output
    assert champion(done)["verdict"] == "kept" and champion(done)["after"] is None


def test_new_hardware_begins_with_the_nearest_devices_champion(tmp_path: Path, knowledge_base: KnowledgeBase) -> None:
    near = Site(tmp_path / "near", knowledge_base.where, device="AMD Old")
    far = Site(tmp_path / "far", knowledge_base.where, near.kernel, "NVIDIA Old")
    near.write(original() | {SECOND: 0.5})
    for site in (near, far):
        site.run()
    near.write(original() | {SECOND: 0.5}, device="AMD New")
    done = near.retune(near.campaign, "--json")
    assert done.exit_code == 0, done.output
    found = champion(done)
    assert found["was_on"] == "AMD Old" and found["device"] == "AMD New"
    assert "device: AMD Old -> AMD New" in found["changes"]
    assert found["now"]["sizes"][0]["best_ms"] == 0.5


@pytest.mark.usefixtures("no_pages")
def test_less_gain_on_new_hardware_is_made_up_for_by_any_proven_gain(site: Site) -> None:
    site.write({row: ms if row == FIRST else 3 * ms for row, ms in original().items()}, device="NVIDIA Two")
    done = site.retune("--json", "--budget", "30")
    assert done.exit_code == 3, done.output
    assert champion(done)["after"]["speedup"] == pytest.approx(3.0)


def test_a_campaign_that_moved_has_to_be_named(site: Site, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(site.folder, moved)
    site.campaign.unlink()
    done = site.retune()
    assert done.exit_code == 2
    assert "not there any more" in done.stderr and "evo-tune retune CAMPAIGN.yaml" in done.stderr
    assert site.retune(moved).exit_code == 0
    assert site.retune(moved / "campaign.yaml", "--kernel", "other").exit_code == 2  # the later word wins


def test_what_no_campaign_has_tuned_and_an_unwritable_folder_are_bad_input(site: Site) -> None:
    assert f"no finished campaign of no_{site.kernel}" in site.retune("--kernel", f"no_{site.kernel}").stderr
    assert site.retune("--knowledge", "none").exit_code == 2
    (site.folder / "again").write_text("a file")
    assert "name another folder" in site.retune().stderr


def planned(base: KnowledgeBase, site: Site) -> Plan:
    found = [item for item in base.champions() if item.kernel == site.kernel]
    campaigns, absent = known_campaigns(found, Overrides(knowledge=site.url))
    assert not absent
    return plan_of(found, campaigns, "", every=True)


def test_an_interrupted_retune_goes_on_with_the_campaign_that_it_had_begun(
    site: Site, knowledge_base: KnowledgeBase
) -> None:
    calls: list[tuple[str, bool]] = []

    def mend(campaign: Campaign, again: bool) -> CampaignResult:
        calls.append(("mend", again))
        result = run_campaign(campaign)
        return result if again else replace(result, stop=StopReason.INTERRUPTED)

    def look(*_: object) -> Look:
        calls.append(("look", False))
        return Look(Figure(1.0, 1.0, 1.0, (("recorded=1", 9.0, 9.0),)))

    def never() -> bool:
        return False

    plan = planned(knowledge_base, site)
    output = site.folder / "again"

    def work(stop: StopRequest = never) -> Retune:
        return Retune(plan, output, 20, None, mend, lambda text: None, stop, look)

    first = work().run()
    assert first.interrupted and [finding.verdict for finding in first.findings] == [Verdict.MENDING]
    assert not json.loads((output / "retune.json").read_text())["ended"]
    second = work().run(resume=True)
    assert calls == [("look", False), ("mend", False), ("mend", True)]
    assert not second.interrupted and [finding.verdict for finding in second.findings] == [Verdict.MENDED]
    third = work(lambda: True).run(resume=True)  # that one has ended: a new one begins, and is stopped at once
    assert third.interrupted and not third.findings
    (output / "retune.json").write_text("{}")
    assert site.retune("--resume").exit_code == 2


def test_a_kernel_that_does_not_run_any_more_is_told_and_the_others_go_on(
    site: Site, tmp_path: Path, knowledge_base: KnowledgeBase
) -> None:
    other = Site(tmp_path / "other", knowledge_base.where)
    other.run()
    plan = planned(knowledge_base, site)
    both = replace(plan, cases=(*plan.cases, *planned(knowledge_base, other).cases))

    def look(case: Case, *_: object) -> Look:
        if case.campaign.name == site.kernel:
            raise EvaluatorError("the kernel as it stands does not compile")
        return Look(case.then)

    def mend(campaign: Campaign, again: bool) -> CampaignResult:
        raise AssertionError("nothing has lost")

    work = Retune(both, site.folder / "again", 20, None, mend, lambda text: None, lambda: False, look)
    failed, kept = work.run().findings
    assert (failed.verdict, kept.verdict) == (Verdict.FAILED, Verdict.KEPT)
    assert "does not compile" in failed.note and worst([failed, kept]) is Verdict.LOST

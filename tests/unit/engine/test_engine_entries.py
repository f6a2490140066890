"""Several entries in one campaign: shares of the budget, what is left over, the whole's figures, and going on."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.api import EvaluatorError
from evo.campaign import Budget, Campaign, CampaignError, EntriesCampaign, Overrides, load_plan
from evo.entries import run_entries
from evo.entries_result import entry_whole, together
from evo.entries_share import EVEN, next_budget, shares
from evo.entries_verify import read_whole
from evo.result import StopReason
from genome.spec import ProblemSize

KERNEL = (
    "__global__ void {name}(float* x, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }}"
)
HEAD = """\
version: 1
name: trio
kernel: {source: kernel.cu}
arguments: [{name: x, dtype: float32, shape: [n], role: out}, {name: n, dtype: int32}]
launch: {domain: n, block: 64}
sizes: [{n: 1000}, {n: 2000, weight: 3}]
budget: {evaluations: 100, minutes: 10, patience: 9}
output: out
entries:
"""
TIMES = {"a": 1.0, "b": 6.0, "c": 3.0}


@pytest.fixture
def plan(tmp_path: Path) -> EntriesCampaign:
    (tmp_path / "kernel.cu").write_text("\n".join(KERNEL.format(name=name) for name in TIMES))
    path = tmp_path / "campaign.yaml"
    path.write_text(HEAD + "".join(f"  - kernel: {{entry: {name}}}\n" for name in TIMES))
    loaded = load_plan(path)
    assert isinstance(loaded, EntriesCampaign)
    return loaded


@dataclass(frozen=True)
class Told:
    """What ``run_entries`` needs of a result."""

    stop: StopReason
    counts: Any
    elapsed_s: float


@dataclass(frozen=True)
class Count:
    evaluations: int


@dataclass
class Tuner:
    """Makes every entry twice as fast. ``uses`` says how many evaluations an entry takes; ``fails`` interrupts it."""

    uses: dict[str, int] = field(default_factory=dict)
    interrupts: str = ""
    kills: str = ""
    budgets: dict[str, Budget] = field(default_factory=dict)
    resumed: dict[str, bool] = field(default_factory=dict)

    def __call__(self, campaign: Campaign, resume: bool) -> Any:
        name = campaign.entry
        self.budgets[name], self.resumed[name] = campaign.budget, resume
        if self.kills == name:
            raise KeyboardInterrupt
        stopped = self.interrupts == name
        used = self.uses.get(name, campaign.budget.evaluations)
        ends = {"low": None, "high": None} if stopped else {"low": 1.5, "high": 2.5}
        row = {"baseline_ms": TIMES[name], "best_ms": TIMES[name] / 2, "speedup": 2.0, **ends}
        data = {
            "sizes": [row] * len(campaign.spec.sizes), "verified": not stopped, "improved": True,
            "evaluations": used, "stop": "evaluations",
            "device": "a device", "entry": name, "variant": "", "genome": [], "campaign_file": "../../campaign.yaml",
            "speedup": {"median": 2.0, "low": 1.5, "high": 2.5},
        }  # fmt: skip
        campaign.output.mkdir(parents=True, exist_ok=True)
        (campaign.output / "best.json").write_text(json.dumps(data))
        return Told(StopReason.INTERRUPTED if stopped else StopReason.EVALUATIONS, Count(used), 60.0)


def run(plan: EntriesCampaign, tuner: Tuner, resume: bool = False, **more: Any) -> dict[str, Any]:
    return run_entries(
        plan, tune=tuner, say=lambda text: None, resume=resume, weigh=lambda c: TIMES[c.entry], **more
    )  # fmt: skip


def test_shares_follow_the_time_above_a_floor() -> None:
    found = shares({"long": 98.0, "short": 1.0, "none": 1.0})
    assert math.isclose(sum(found.values()), 1.0)
    assert found["long"] > 0.8
    assert min(found.values()) >= EVEN / 3


def test_budgets_of_all_entries_are_the_whole_budget() -> None:
    """Whatever the times, nothing is lost or invented when every entry takes what it gets."""
    for times in ({"a": 5.0}, {"a": 1.0, "b": 1e-9}, {"a": 1.0, "b": 2.0, "c": 4.0, "d": 0.01}):
        for evaluations in (len(times), 17, 100):
            share, left = shares(times), Budget(evaluations, 8.0, 3)
            waiting = sorted(times, key=lambda name: -times[name])
            given = []
            while waiting:
                budget = next_budget(waiting[0], waiting, share, left)
                assert budget.evaluations >= 1 and budget.minutes is not None and left.minutes is not None
                assert budget.patience == 3
                given.append(budget)
                left = replace(left, evaluations=left.evaluations - budget.evaluations,
                               minutes=left.minutes - budget.minutes)  # fmt: skip
                waiting = waiting[1:]
            assert sum(budget.evaluations for budget in given) == evaluations
            assert math.isclose(sum(budget.minutes or 0.0 for budget in given), 8.0)


def test_the_longest_comes_first_and_leftovers_go_to_the_others(plan: EntriesCampaign) -> None:
    full, frugal = Tuner(), Tuner(uses={"b": 10})
    assert run(plan, full)["evaluations"] == 100
    assert list(full.budgets) == ["b", "c", "a"]
    run(plan, frugal)
    assert frugal.budgets["b"].evaluations == full.budgets["b"].evaluations
    left_over = full.budgets["b"].evaluations - 10
    assert left_over > 30
    gained = sum(frugal.budgets[name].evaluations - full.budgets[name].evaluations for name in ("a", "c"))
    assert gained == left_over
    assert frugal.budgets["c"].evaluations > full.budgets["c"].evaluations


def test_the_whole_is_the_sum_of_its_parts(plan: EntriesCampaign) -> None:
    data = run(plan, Tuner())
    assert data == json.loads((plan.output / "best.json").read_text())
    assert data["before_ms"] == pytest.approx(10.0)
    assert data["speedup"] == pytest.approx({"median": 2.0, "low": 1.5, "high": 2.5})
    assert data["verified"] and data["stop"] == "finished"
    assert sum(row["share_before"] for row in data["entries"]) == pytest.approx(1.0)
    page = (plan.output / "report.html").read_text()
    assert all(f'href="{name}/report.html"' in page for name in TIMES)


def test_calls_and_weights_count() -> None:
    """By hand: 4 calls of (1 * 8 + 3 * 4) / 4 = 5 ms, and one of 10 ms that becomes 5 ms."""
    sizes = (ProblemSize((("n", 1),), 1.0), ProblemSize((("n", 2),), 3.0))
    rows = [{"baseline_ms": 8.0, "speedup": 2.0, "low": 1.0, "high": 4.0},
            {"baseline_ms": 4.0, "speedup": 1.0, "low": 1.0, "high": 1.0}]  # fmt: skip
    first = entry_whole(4.0, sizes, rows)
    assert (first.before_ms, first.after_ms, first.least_ms, first.most_ms) == (20.0, 16.0, 14.0, 20.0)
    second = entry_whole(1.0, sizes[:1], [{"baseline_ms": 10.0, "speedup": 2.0, "low": None, "high": None}])
    assert together((first, second)).speedup == pytest.approx({"median": 30 / 21, "low": 30 / 25, "high": 30 / 19})


@pytest.mark.parametrize("how", ["interrupts", "kills"])
def test_an_interrupted_run_goes_on(plan: EntriesCampaign, how: str) -> None:
    first, second = Tuner(**{how: "c"}), Tuner()
    if how == "kills":
        with pytest.raises(KeyboardInterrupt):
            run(plan, first)
    else:
        data = run(plan, first)
        assert data["stop"] == "interrupted" and not data["verified"]
        assert [row["file"] is not None for row in data["entries"]] == [False, True, True]
    data = run(plan, second, resume=True)
    assert second.resumed == {"c": True, "a": False}
    assert second.budgets["c"] == first.budgets["c"]
    assert data["stop"] == "finished" and data["evaluations"] == 100


@pytest.mark.parametrize("left", ['{"stop": "running"}', "", None])
def test_a_run_that_was_killed_before_its_last_word_says_it(plan: EntriesCampaign, left: str | None) -> None:
    said, best = run(plan, Tuner()), plan.output / "best.json"
    best.unlink() if left is None else best.write_text(left)
    tuner = Tuner()
    assert run(plan, tuner, resume=True) == said == json.loads(best.read_text())
    assert not tuner.budgets
    run(plan, tuner, resume=True)
    assert list(tuner.budgets) == ["b", "c", "a"], "one that has ended is not gone on with"


def test_no_entry_begins_after_a_stop(plan: EntriesCampaign) -> None:
    tuner = Tuner()
    data = run(plan, tuner, stop=lambda: bool(tuner.budgets))
    assert list(tuner.budgets) == ["b"] and data["stop"] == "interrupted"
    assert data["speedup"]["median"] == pytest.approx(10.0 / 7.0)


def test_a_stop_while_entries_are_weighed_ends_at_the_next_one(plan: EntriesCampaign) -> None:
    weighed: list[str] = []
    tuner = Tuner()

    def weigh(campaign: Campaign) -> float:
        weighed.append(campaign.entry)
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        run_entries(plan, tune=tuner, say=lambda text: None, weigh=weigh, stop=lambda: bool(weighed))
    assert weighed == ["a"] and not tuner.budgets and not plan.output.exists()


def test_what_fails_names_its_entry(plan: EntriesCampaign) -> None:
    def weigh(campaign: Campaign) -> float:
        raise EvaluatorError("it does not run")

    with pytest.raises(EvaluatorError, match="a: it does not run"):
        run_entries(plan, tune=Tuner(), say=lambda text: None, weigh=weigh)


def test_another_campaign_does_not_go_on_with_it(plan: EntriesCampaign) -> None:
    run(plan, Tuner(interrupts="b"))
    with pytest.raises(CampaignError, match=r"the interrupted run had another device, other entries"):
        run(replace(plan, seed=4), Tuner(), resume=True)
    elsewhere = load_plan(plan.path, Overrides(device="opencl:1"))
    assert isinstance(elsewhere, EntriesCampaign)
    with pytest.raises(CampaignError, match=r"the interrupted run had another device"):
        run(elsewhere, Tuner(), resume=True)
    more = replace(plan, budget=replace(plan.budget, evaluations=300))
    assert run(more, Tuner(), resume=True)["stop"] == "finished"


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"sizes": 3}', '{"sizes": [{}, {}]}', '{"sizes": []}'])
def test_a_result_that_is_gone_is_named(plan: EntriesCampaign, text: str) -> None:
    run(plan, Tuner(interrupts="c"))
    (plan.output / "b" / "best.json").write_text(text)
    with pytest.raises(CampaignError, match=r"b/best.json: the result of an entry that has ended cannot be read"):
        run(plan, Tuner(), resume=True)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": 1, "budget": [1, 2]}'])
def test_a_broken_journal_begins_anew(plan: EntriesCampaign, text: str) -> None:
    run(plan, Tuner(interrupts="b"))
    (plan.output / "entries.json").write_text(text)
    tuner = Tuner()
    run(plan, tuner, resume=True)
    assert tuner.resumed == {"b": False, "c": False, "a": False}


def test_a_claim_of_several_is_read_with_its_entries(plan: EntriesCampaign) -> None:
    run(plan, Tuner(interrupts="c"))
    claim = read_whole(plan.output / "best.json")
    assert claim is not None
    assert [(name, part.entry) for name, _, part in claim.entries] == [("b", "b"), ("c", "c")]
    assert claim.untouched == ("a",)
    assert read_whole(plan.output / "b" / "best.json") is None
    (plan.output / "best.json").write_text(
        '{"entries": [{"name": "a"}], "speedup": {"median": 1, "low": 1, "high": 1}}'
    )
    with pytest.raises(CampaignError, match=r"is no best.json of several entries"):
        read_whole(plan.output / "best.json")

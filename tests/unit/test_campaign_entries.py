"""A file of several entries: what each one's campaign is, and what is said where the file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import app
from evo.campaign import Campaign, CampaignError, EntriesCampaign, Overrides, load_campaign, load_plan

KERNEL = """\
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 3.0f * x[i];
}
__global__ void shift(const float* y, float* z, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = y[i] + by;
}
"""
ENTRIES = """\
version: 1
name: pair
kernel: {source: kernel.cu, defines: {UNUSED: 1}}
launch: {domain: n, block: 64}
sizes: [{n: 1000}]
assume: {no_alias: true}
budget: {evaluations: 10, patience: 4}
entries:
  - kernel: {entry: scale}
    arguments:
      - {name: x, dtype: float32, shape: [n]}
      - {name: y, dtype: float32, shape: [n], role: out}
      - {name: n, dtype: int32}
  - name: moved
    calls: 2.5
    kernel: {entry: shift}
    sizes: [{n: 500}, {n: 700, weight: 3}]
    launch: {domain: n, block: 128}
    arguments:
      - {name: y, dtype: float32, shape: [n]}
      - {name: z, dtype: float32, shape: [n], role: out}
      - {name: n, dtype: int32}
      - {name: by, dtype: float32, value: 1.5}
output: out
"""
ALONE = """\
version: 1
name: pair
kernel: {source: kernel.cu, defines: {UNUSED: 1}, entry: shift}
launch: {domain: n, block: 128}
sizes: [{n: 500}, {n: 700, weight: 3}]
assume: {no_alias: true}
budget: {evaluations: 10, patience: 4}
arguments:
  - {name: y, dtype: float32, shape: [n]}
  - {name: z, dtype: float32, shape: [n], role: out}
  - {name: n, dtype: int32}
  - {name: by, dtype: float32, value: 1.5}
output: out
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    return tmp_path


def plan_of(folder: Path, text: str = ENTRIES) -> Campaign | EntriesCampaign:
    (folder / "campaign.yaml").write_text(text)
    return load_plan(folder / "campaign.yaml")


def test_an_entry_is_the_campaign_that_a_file_of_its_own_would_be(folder: Path) -> None:
    plan = plan_of(folder)
    assert isinstance(plan, EntriesCampaign)
    assert [(entry.name, entry.calls) for entry in plan.entries] == [("scale", 1.0), ("moved", 2.5)]
    (folder / "alone.yaml").write_text(ALONE)
    alone, moved = load_campaign(folder / "alone.yaml"), plan.entries[1].campaign
    assert moved.spec == alone.spec
    assert (moved.budget, moved.seed, moved.settings) == (alone.budget, alone.seed, alone.settings)
    assert (moved.name, moved.entry, moved.output) == ("pair/moved", "moved", folder / "out" / "moved")
    assert plan.entries[0].campaign.spec.launch.block == (64, 1, 1)
    assert load_campaign(folder / "campaign.yaml", entry="moved") == moved


def test_overrides_hold_for_every_entry(folder: Path, tmp_path: Path) -> None:
    plan_of(folder)
    plan = load_plan(folder / "campaign.yaml", Overrides(evaluations=7, seed=9, output=tmp_path / "there"))
    assert isinstance(plan, EntriesCampaign)
    assert (plan.budget.evaluations, plan.seed, plan.output) == (7, 9, tmp_path / "there")
    assert {entry.campaign.output for entry in plan.entries} == {tmp_path / "there/scale", tmp_path / "there/moved"}


def test_a_file_of_one_kernel_is_no_plan_of_entries(folder: Path) -> None:
    assert isinstance(plan_of(folder, ALONE), Campaign)
    with pytest.raises(CampaignError, match=r"has no `entries:`, so none that is named 'scale'"):
        load_campaign(folder / "campaign.yaml", entry="scale")


@pytest.mark.parametrize(("old", "new", "said"), [
    ("calls: 2.5", "calls: 0", r":15: entries\[1\]\.calls: expected a number of more than 0"),
    ("calls: 2.5", "calls: often", r":15: entries\[1\]\.calls: expected a number, got 'often'"),
    ("calls: 2.5", "call: 2", r":15: entries\[1\]\.call: unknown field; did you mean 'calls'"),
    ("calls: 2.5", "budget: {evaluations: 3}", r":15: entries\[1\]\.budget: unknown field; possible: name, calls"),
    ("name: moved", "name: scale", r":14: entries\[1\]: 'scale' is there twice; give one of them another `name:`"),
    ("name: moved", "name: a/b", r":14: entries\[1\]\.name: expected a name of letters"),
    ("kernel: {entry: scale}", "calls: 1", r":9: entries\[0\]: an entry needs a `name:`, or"),
    ("kernel: {entry: scale}", "kernel: {entry: scales}", r":9: entries\[0\]\.kernel\.entry: .* did you mean 'scale'"),
    ("UNUSED: 1", "UNUSED: [1]", r":3: kernel\.defines\.UNUSED: expected a text"),
    ("value: 1.5", "value: m", r":23: entries\[1\]\.arguments\[3\]\.value: 'm' is not a size"),
    ("block: 128", "block: 4096", r":18: entries\[1\]\.launch\.block: a block of 4096"),
    ("block: 64", "block: 4096", r":4: launch\.block: a block of 4096"),
    ("sizes: [{n: 500}", "sizes: [{m: 500}", r":17: entries\[1\]\.sizes"),
    ("evaluations: 10", "evaluations: 1", r":7: budget: expected at least an evaluation for each of 2 entries, got 1"),
    ("entries:", "entry:", r":8: entry: unknown field; did you mean 'entries'"),
])  # fmt: skip
def test_mistakes_are_named_where_they_stand(folder: Path, old: str, new: str, said: str) -> None:
    assert ENTRIES.count(old) == 1
    with pytest.raises(CampaignError, match=said):
        plan_of(folder, ENTRIES.replace(old, new))


@pytest.mark.parametrize(("entries", "said"), [
    ("[]", r":8: entries: expected at least 1 entry, got none"),
    ("3", r":8: entries: expected a list, got 3"),
    ("[scale]", r":8: entries\[0\]: expected fields \(name: value\), got 'scale'"),
    ("[{name: scale, kernel: {entry: scale}}]", r":8: entries\[0\]\.arguments: required field is missing"),
])  # fmt: skip
def test_a_list_of_entries_is_expected(folder: Path, entries: str, said: str) -> None:
    text = ENTRIES[: ENTRIES.index("entries:")] + f"entries: {entries}\n"
    with pytest.raises(CampaignError, match=said):
        plan_of(folder, text)


def test_energies_are_not_added_up(folder: Path) -> None:
    with pytest.raises(CampaignError, match=r"objective: entries share a budget by their times"):
        plan_of(folder, ENTRIES + "objective: energy\ndevice: cuda:0\n")
    plan = plan_of(folder, ENTRIES + "objective: {kind: latency, at_least: {throughput: 3}}\n")
    assert isinstance(plan, EntriesCampaign) and plan.entries[1].campaign.objective.throughput == 3.0


def test_one_of_several_has_to_be_named(folder: Path) -> None:
    plan_of(folder)
    with pytest.raises(CampaignError, match=r":8: entries: there are several here; name one: scale, moved"):
        load_campaign(folder / "campaign.yaml")
    with pytest.raises(CampaignError, match=r"none is named 'move'; did you mean 'moved'"):
        load_campaign(folder / "campaign.yaml", entry="move")


def test_a_folder_of_an_entry_that_cannot_be_written_is_seen_at_once(folder: Path) -> None:
    plan_of(folder)
    (folder / "out").mkdir()
    (folder / "out" / "moved").touch()
    done = CliRunner().invoke(app, ["run", str(folder / "campaign.yaml")])
    assert done.exit_code == 2
    assert f"output: cannot write into {folder / 'out' / 'moved'}" in done.output

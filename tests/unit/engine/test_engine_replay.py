"""Campaigns on a recorded space: the whole engine, reproducible, and clear where the file is wrong."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import app
from evaluator.recording import read_recording
from evo.campaign import CampaignError, load_campaign
from evo.campaign_replay import recorded_space
from evo.campaign_types import Overrides
from evo.engine import evolve, run_campaign
from evo.memory import NoMemory
from evo.progress import SilentObserver
from evo.recorded import RecordedSpace
from evo.result import CampaignResult, StopReason
from evo.wire_replay import assemble_replay
from genome.genes import Gene, Genome
from genome.variant import Rejection, Variant

TILES = Path(__file__).parents[2] / "data" / "spaces" / "tiles.json"
TEXT = "version: 1\ntarget: replay:{file}\nknowledge: none\nseed: 3\nbudget: {{evaluations: 40}}\n"


@pytest.fixture
def campaign_file(tmp_path: Path) -> Path:
    (tmp_path / "tiles.json").write_bytes(TILES.read_bytes())
    (tmp_path / "campaign.yaml").write_text(TEXT.format(file="tiles.json"))
    return tmp_path / "campaign.yaml"


@pytest.fixture(scope="module")
def space() -> RecordedSpace:
    return recorded_space(read_recording(TILES), "tiles")


def steps(result: CampaignResult) -> list[tuple[str, float | None, str]]:
    return [(point.variant, point.speedup, point.status) for point in result.history]


def test_genes_and_configurations_are_the_same_thing(space: RecordedSpace) -> None:
    assert space.row(Genome()) == space.first
    for row in range(0, len(space.recording), 7):
        genome = space.genome(row)
        assert space.row(genome) == row
        variant = space.lower(genome)
        assert isinstance(variant, Variant)
        defined = dict(option.removeprefix("-D").split("=", 1) for option in variant.options)
        assert defined == space.recording.configuration(row)
    assert {move.site.label for move in space.moves(Genome())} == set(space.recording.names)


def test_a_configuration_that_is_not_there_is_rejected(space: RecordedSpace) -> None:
    genome = space.genome(space.recording.rows[(7, 2, 0, 0)])  # 128x4; 128x8 is beyond the space's limit
    site = next(gene.site for gene in genome.genes if gene.site.label == "block_size_y")
    assert isinstance(space.lower(genome.with_gene(Gene.of("macro", site, value="8"))), Rejection)


def test_a_run_finds_the_optimum_and_repeats_bit_for_bit(campaign_file: Path) -> None:
    first, again = (run_campaign(load_campaign(campaign_file)) for _ in range(2))
    assert steps(first) == steps(again)
    recording = read_recording(TILES)
    best = min(float(time) for time in recording.times_ms if not math.isnan(time))
    assert first.comparison.sizes[0].best_ms == pytest.approx(best, rel=0.02)
    assert first.counts.evaluations == 40
    assert len({variant for variant, _, _ in steps(first)}) == 40, "nothing is measured twice"
    other = run_campaign(load_campaign(campaign_file, Overrides(seed=4)))
    assert steps(other) != steps(first)


def test_a_recording_is_read_once(campaign_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = load_campaign(campaign_file, Overrides(evaluations=3))
    monkeypatch.setattr("evaluator.recording.read_json", None)
    assert run_campaign(campaign).counts.evaluations == 3


def test_a_resumed_run_knows_what_was_measured(campaign_file: Path, bench: Any) -> None:
    campaign, memory = load_campaign(campaign_file), bench.memory_type()
    space = recorded_space(read_recording(TILES), campaign.name)
    polls = itertools.count()
    parts = assemble_replay(campaign, space, memory)
    cut = evolve(campaign, parts, observer=SilentObserver(), stop=lambda: next(polls) > 60)
    assert cut.stop is StopReason.INTERRUPTED and 12 < cut.counts.evaluations < 40
    told = assemble_replay(campaign, space, memory)
    whole = evolve(campaign, told, observer=SilentObserver(), resume=True)
    assert steps(whole)[: len(steps(cut))] == steps(cut)
    assert whole.counts.evaluations == len({variant for variant, _, _ in steps(whole)}) == 40
    assert whole.counts.duplicates == 0, "the model proposes nothing that it was told of"


def test_another_recording_of_the_kernel_gives_no_times_away(campaign_file: Path, space: RecordedSpace) -> None:
    campaign = load_campaign(campaign_file)
    same = recorded_space(read_recording(TILES), "tiles")
    slower = replace(same, recording=replace(same.recording, times_ms=2.0 * same.recording.times_ms))
    first, again, other = (assemble_replay(campaign, one, NoMemory()).contract for one in (space, same, slower))
    assert first == again != other


def test_the_command_writes_figures_and_no_kernel(campaign_file: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(campaign_file), "--evaluations", "15", "--json"])
    assert done.exit_code == 0, done.output
    best = json.loads(done.stdout)
    assert best["device"] == "Made-up GPU" and best["evaluations"] == 15
    assert any("nothing was run or verified here" in note for note in best["notes"])
    written = {path.name for path in (campaign_file.parent / "evo-out").iterdir()}
    assert {"best.json", "report.html", "changes.md"} <= written and not {"best.cu", "best.cl"} & written
    for name in ("report.html", "changes.md"):
        text = (campaign_file.parent / "evo-out" / name).read_text()
        assert "nothing was run or verified here" in text
        assert not any(claim in text for claim in ("fresh processes", "95% interval", "one process", "not yet proven"))


@pytest.mark.parametrize("command", ["profile", "inspect", "verify"])
def test_what_needs_a_kernel_says_that_there_is_none(command: str, campaign_file: Path) -> None:
    file = campaign_file
    if command == "verify":
        CliRunner().invoke(app, ["run", str(campaign_file), "--evaluations", "5"])
        file = campaign_file.parent / "evo-out" / "best.json"
    done = CliRunner().invoke(app, [command, str(file)])
    assert done.exit_code == 2
    assert f"a recorded space (`target:`), which has no kernel to {command}" in done.stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TEXT.format(file="none.json"), "campaign.yaml:2: target: no such file"),
        (TEXT.format(file="campaign.yaml"), "campaign.yaml:2: target: "),
        ("version: 1\ntarget: cuda:0\n", "expected replay:FILE"),
        ("version: 1\ntarget: replay:tiles.json\nkernel: {source: a.cu}\n", "campaign.yaml:3: kernel"),
        ("version: 1\ntarget: replay:tiles.json\nentries: [{entry: a}]\n", "campaign.yaml:3: entries: `target:` names"),
        ("version: 1\ntarget: replay:tiles.json\nkernal: {source: a.cu}\n", "campaign.yaml:3: kernal: unknown field"),
        ("version: 1\ntarget: replay:tiles.json\nknowledge: none of it\n", "campaign.yaml:3: knowledge: expected auto"),
        ("version: 1\ntarget: replay:tiles.json\nbudget: {evaluations: none}\n", "budget.evaluations"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, wanted: str, campaign_file: Path) -> None:
    campaign_file.write_text(text)
    with pytest.raises(CampaignError) as error:
        load_campaign(campaign_file)
    assert wanted in str(error.value)


def test_no_other_device_can_be_named(campaign_file: Path) -> None:
    with pytest.raises(CampaignError, match="--device"):
        load_campaign(campaign_file, Overrides(device="opencl:0"))

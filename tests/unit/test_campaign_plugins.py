"""Transforms of installed packages can be forbidden and pinned like the built-in ones, by every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cli.evolving
import cli.profile
import evo.plugins
from cli.main import app
from evo.campaign import Campaign, CampaignError, load_campaign
from evo.verify import Claim, verify
from genome.genes import Genome
from genome.transforms.block_shape import BlockShape
from genome.transforms.builtin import BUILTIN

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vector_add"


class Shaper(BlockShape):
    """A transform that a package could bring."""

    name = "shaper"


class SeenError(Exception):
    """Ends a command once its campaign is loaded."""


@pytest.fixture
def steered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_text(file.read_text())
    path = tmp_path / "campaign.yaml"
    path.write_text(path.read_text() + "\ntransforms: {forbid: [shaper]}\n")
    offered = {evo.plugins.TRANSFORM_GROUP: (Shaper(),)}
    monkeypatch.setattr(evo.plugins, "plugins", lambda group: offered.get(group, ()))
    return path


def test_names_of_plug_ins_are_known(steered: Path) -> None:
    assert load_campaign(steered, None, evo.plugins.transforms()).spec.steering.forbid == ("shaper",)
    with pytest.raises(CampaignError, match="unknown transform 'shaper'"):
        load_campaign(steered, None, BUILTIN)


@pytest.mark.parametrize("command", ["run", "profile", "verify"])
def test_each_command_knows_them(command: str, steered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Campaign] = []

    def end(campaign: Campaign, *rest: Any, **more: Any) -> None:
        seen.append(campaign)
        raise SeenError

    monkeypatch.setattr(cli.evolving, "_evolve", end)
    monkeypatch.setattr(cli.profile, "profile_kernel", end)
    monkeypatch.setattr("evo.verify.build", end)
    if command == "verify":
        claim = Claim(steered.parent / "best.json", steered, Genome(), "", "", (1.0, 1.0, 1.0), True)
        with pytest.raises(SeenError):
            verify(claim, device=None, processes=None, progress=lambda done, of: None)
    else:
        done = CliRunner().invoke(app, [command, str(steered)])
        assert isinstance(done.exception, SeenError), done.output
    assert seen[0].spec.steering.forbid == ("shaper",)


def test_an_inspection_says_that_one_is_forbidden(steered: Path) -> None:
    outcome = CliRunner().invoke(app, ["inspect", str(steered), "--json"])
    forbidden = [group for group in json.loads(outcome.stdout)["refusals"] if "forbids" in group["reason"]]
    assert {place["transform"] for group in forbidden for place in group["moves"]} == {"shaper"}

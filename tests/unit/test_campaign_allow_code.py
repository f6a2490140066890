"""Code that a campaign names runs from its own folder only, unless the user allows another place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evo.campaign import CampaignError, Overrides, load_campaign

EXAMPLE = Path(__file__).parents[2] / "examples" / "matmul"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """The example in a folder of its own, its reference in another one beside it."""
    for folder in ("own", "elsewhere"):
        (tmp_path / folder).mkdir()
    for name in ("kernel.cu", "campaign.yaml"):
        shutil.copy(EXAMPLE / name, tmp_path / "own" / name)
    shutil.copy(EXAMPLE / "reference.py", tmp_path / "elsewhere" / "reference.py")
    return tmp_path / "own" / "campaign.yaml"


def name_reference(campaign: Path, text: str) -> None:
    lines = campaign.read_text().splitlines()
    found = [f"reference: {text}" if line.startswith("reference:") else line for line in lines]
    assert found != lines or text == "reference.py:matmul"
    campaign.write_text("\n".join(found) + "\n")


@pytest.mark.parametrize("how", ["relative", "absolute", "link"])
def test_code_from_elsewhere_is_refused_unless_it_is_allowed(
    how: str, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVO_TUNE_ALLOW_CODE", raising=False)
    elsewhere = campaign.parent.parent / "elsewhere"
    if how == "link":
        (campaign.parent / "reference.py").symlink_to(elsewhere / "reference.py")
    names = {"relative": "../elsewhere/reference.py:matmul", "absolute": f"{elsewhere}/reference.py:matmul"}
    name_reference(campaign, names.get(how, "reference.py:matmul"))
    with pytest.raises(CampaignError, match=r"campaign.yaml:\d+: reference: .* lies outside .*--allow-code"):
        load_campaign(campaign)
    with pytest.raises(CampaignError, match="--allow-code"):
        load_campaign(campaign, Overrides(allow_code=(campaign.parent / "other",)))
    for allowed in (elsewhere, elsewhere / "reference.py", elsewhere.parent):
        found = load_campaign(campaign, Overrides(allow_code=(allowed,)))
        assert found.reference is not None and Path(found.reference.path).resolve().parent == elsewhere.resolve()
    monkeypatch.setenv("EVO_TUNE_ALLOW_CODE", f"/nowhere:{elsewhere}")
    assert load_campaign(campaign).reference is not None


def test_code_beside_the_campaign_needs_no_leave(campaign: Path) -> None:
    shutil.copy(EXAMPLE / "reference.py", campaign.parent / "reference.py")
    assert load_campaign(campaign).reference is not None


@pytest.mark.parametrize("allowed", [False, True])
def test_a_generator_from_elsewhere_needs_leave_as_well(
    allowed: bool, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVO_TUNE_ALLOW_CODE", raising=False)
    elsewhere = campaign.parent.parent / "elsewhere"
    (elsewhere / "fill.py").write_text("def values(shape, sizes, seed):\n    return None\n")
    name_reference(campaign, "none")
    text = campaign.read_text()
    named = f"init: {{kind: generator, function: '{elsewhere}/fill.py:values'}}"
    changed = text.replace("init: {kind: uniform, low: -1, high: 1}", named, 1)
    assert changed != text
    campaign.write_text(changed)
    if allowed:
        assert load_campaign(campaign, Overrides(allow_code=(elsewhere,))).spec.args[0].init.kind == "generator"
        return
    with pytest.raises(CampaignError, match=r"arguments\[0\].init.function: .* lies outside .*--allow-code"):
        load_campaign(campaign)


def test_a_generator_that_the_file_lacks_is_told_at_once(campaign: Path) -> None:
    (campaign.parent / "fill.py").write_text("def values(shape, sizes, seed):\n    return None\n")
    name_reference(campaign, "none")
    named = "init: {kind: generator, function: 'fill.py:value'}"
    campaign.write_text(campaign.read_text().replace("init: {kind: uniform, low: -1, high: 1}", named, 1))
    with pytest.raises(CampaignError, match="has no function 'value'; did you mean 'values'"):
        load_campaign(campaign)

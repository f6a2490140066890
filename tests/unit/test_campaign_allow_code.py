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

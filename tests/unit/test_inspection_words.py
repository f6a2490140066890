"""The wording of an inspection: figures, lists, what is opaque about a text, and the first line of a campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.screen import PlainScreen
from evaluator.result import DeviceInfo, Toolchain
from evo.campaign import load_campaign
from evo.inspection.remark import opening_remark
from evo.inspection.words import at_lines, byte_count, figure, listed, together, why_opaque
from evo.progress import CampaignStart
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.moves import moves
from genome.spec import Steering
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("value", "shown", "moved"),
    [(0.25, "0.25", "0.25 bytes"), (12.0, "12", "12 bytes"), (4100.0, "4100", "4100 bytes"),
     (16_400.0, "16.4k", "16.4 kB"), (3.2e6, "3.2M", "3.2 MB"), (5e9, "5G", "5 GB")],
)  # fmt: skip
def test_figures_are_short(value: float, shown: str, moved: str) -> None:
    assert figure(value) == shown and byte_count(value) == moved


def test_lists_read_as_a_person_would_write_them() -> None:
    assert [listed([]), listed("a"), listed("ab"), listed("abc")] == ["nothing", "a", "a and b", "a, b and c"]
    assert listed("abca") == "a, b and c"
    assert listed("abcdefgh", 4) == "a, b, c and 5 more"
    assert [at_lines([]), at_lines([0]), at_lines([7]), at_lines([9, 7, 9])] == ["", "", "line 7", "lines 7 and 9"]
    assert together(["t@A (after s)", "u@x", "t@B (after s)"]) == ["t@A, B (after s)", "u@x"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('asm volatile("bar.sync 0;");', "inline assembly"),
        ("child<<<1, 32>>>(x);", "it launches another kernel"),
        ("v = tex2D<float>(t, x, y);", "it reads a texture or a surface"),
        ("warp.shfl_down(v, 1);", "cooperative groups"),
        ("auto t = make_tensor(p, l);", "a layout library"),
        ("again: if (x) goto again;", "it jumps"),
        ("switch (n) { case 0: break; }", "a switch"),
        ("while (n > 0) n /= 2;", "a loop that does not count"),
        ("x = y;", ""),
    ],
)
def test_what_is_opaque_about_a_text(text: str, why: str) -> None:
    assert why_opaque(text) == why


def test_a_campaign_begins_with_what_kind_of_kernel_it_is() -> None:
    campaign = load_campaign(EXAMPLES / "transpose" / "campaign.yaml")
    found = moves(campaign.spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert opening_remark(campaign, found) == "transpose is a permutation"


def test_a_campaign_that_nothing_rewrites_points_to_the_inspection() -> None:
    campaign = load_campaign(EXAMPLES / "transpose" / "campaign.yaml")
    focused = replace(campaign.spec, steering=Steering(focus=("block_shape",)))
    found = moves(focused, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    said = opening_remark(replace(campaign, spec=focused), found)
    assert "no transform rewrites it" in said and f"evo-tune inspect {campaign.path}" in said
    assert opening_remark(replace(campaign, spec=replace(campaign.spec, source="")), ()) == ""


def test_the_remark_is_a_line_of_its_own_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    device = DeviceInfo("opencl:0", "a device", "v", "x86", "cpu", 2, 1 << 30)
    start = CampaignStart("t", device, Toolchain("PoCL", "1", "LLVM"), 10, 1.0, (), "known before", remark="t is a map")
    PlainScreen(load_campaign(EXAMPLES / "transpose" / "campaign.yaml")).on_start(start)
    assert capsys.readouterr().err.splitlines()[-2:] == ["t is a map", "known before"]

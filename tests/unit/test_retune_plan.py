"""Which champion has to hold on which platform, and whose code may run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.result import DeviceInfo, Toolchain
from evo.campaign import Overrides, load_campaign
from evo.campaign_types import CampaignError
from evo.retune_campaigns import known_campaigns, named_campaigns
from evo.retune_plan import Platform, chosen, differences, plan_of
from genome.genes import Gene, Genome, Site
from knowledge.champions import Champion
from knowledge.encode import fingerprint
from knowledge.features import device_features

KERNEL = """\
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
CAMPAIGN = """\
version: 1
kernel: {source: kernel.cu}
arguments:
  - {name: x, dtype: float32, shape: [n]INIT}
  - {name: y, dtype: float32, shape: [n], role: out}
  - {name: n, dtype: int32}
launch: {domain: n, block: 64}
sizes: [{n: 1000}]
REFERENCE
"""
CODE = "def twice(inputs, sizes):\n    return 2 * inputs['x']\n"
SMALL = DeviceInfo("cuda:0", "small", "NVIDIA", "sm_80", "gpu", 40, 16 << 30)
LARGE = DeviceInfo("cuda:0", "large", "NVIDIA", "sm_90", "gpu", 130, 80 << 30)
LAPTOP = DeviceInfo("opencl:0", "laptop", "Intel", "x86", "cpu", 8, 16 << 30)
OLD, NEW = Toolchain("CUDA 12", "550", "nvrtc 12"), Toolchain("CUDA 13", "580", "nvrtc 13")
FASTER = Genome((Gene.of("unroll", Site("k", "reduction[0]"), factor=4),))


def champion(device: DeviceInfo, tools: Toolchain, speedup: float, genome: Genome = FASTER, **other: str) -> Champion:
    fields = {"version": "1", "contract": "c", **other}
    return Champion(
        1, "name", "twice", "digest", fields["contract"], fields["version"], device.name, fingerprint(device),
        device_features(device), tools, "variant", genome, speedup, speedup, speedup, (("n=1000", speedup, 1.0),),
        None, fields.get("file", ""), "", "2026-01-01",
    )  # fmt: skip


def here(device: DeviceInfo, tools: Toolchain = NEW) -> Platform:
    return Platform(device, tools, "1", "c", "digest")


def test_each_kind_of_change_is_named() -> None:
    known = champion(SMALL, OLD, 2.0)
    assert differences(known, here(SMALL, OLD)) == ()
    assert differences(known, here(SMALL)) == (
        "platform: CUDA 12 -> CUDA 13", "driver: 550 -> 580", "compiler: nvrtc 12 -> nvrtc 13",
    )  # fmt: skip
    assert differences(known, here(LARGE, OLD)) == ("device: small -> large",)
    assert differences(known, replace(here(SMALL, OLD), version="2")) == ("evo-tune: 1 -> 2",)
    assert differences(known, replace(here(SMALL, OLD), version="")) == ()
    (what,) = differences(known, replace(here(SMALL, OLD), contract="d"))
    assert "reference" in what


def test_the_platform_at_hand_comes_before_the_newest_one() -> None:
    newest_first = [champion(SMALL, OLD, 3.0), champion(SMALL, NEW, 2.0), champion(SMALL, NEW, 2.5)]
    found = chosen(newest_first, here(SMALL, NEW))
    assert found is not None and (found.toolchain, found.speedup) == (NEW, 2.5)


def test_of_earlier_platforms_the_newest_counts() -> None:
    other = Toolchain("CUDA 11", "450", "nvrtc 11")
    newest_first = [champion(SMALL, OLD, 2.0), champion(SMALL, other, 9.0), champion(SMALL, OLD, 2.2)]
    found = chosen(newest_first, here(SMALL, NEW))
    assert found is not None and found.speedup == 2.2


def test_other_hardware_counts_where_the_own_has_nothing_by_its_distance() -> None:
    newest_first = [champion(LAPTOP, OLD, 9.0), champion(SMALL, NEW, 2.0)]
    found = chosen(newest_first, here(LARGE))
    assert found is not None and found.device == "small"
    own = [*newest_first, champion(LARGE, OLD, 1.5)]
    found = chosen(own, here(LARGE))
    assert found is not None and found.device == "large"


def test_where_nothing_was_faster_there_is_no_champion() -> None:
    as_it_is = champion(LARGE, NEW, 1.0, Genome())
    assert chosen([as_it_is, champion(SMALL, NEW, 2.0)], here(LARGE)) is None
    assert chosen([as_it_is], here(SMALL)) is None
    assert chosen([], here(SMALL)) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project" / "tuning"
    made.mkdir(parents=True)
    (made / "kernel.cu").write_text(KERNEL)
    for place in (made, made.parent):
        (place / "code.py").write_text(CODE + "def fill(shape, sizes, seed):\n    return None\n")
    return made


def written(folder: Path, reference: str = "", init: str = "") -> Path:
    path = folder / "campaign.yaml"
    stated = f"reference: {reference}" if reference else ""
    path.write_text(CAMPAIGN.replace("REFERENCE", stated).replace("INIT", init))
    return path


@pytest.mark.parametrize(
    ("reference", "init", "outside"),
    [
        ("", "", False),
        ("code.py:twice", "", False),
        ("../code.py:twice", "", True),
        ("", ", init: {kind: generator, function: 'code.py:fill'}", False),
        ("", ", init: {kind: generator, function: '../code.py:fill'}", True),
        ("link.py:twice", "", True),
    ],
)
def test_code_outside_of_the_folder_needs_leave(folder: Path, reference: str, init: str, outside: bool) -> None:
    (folder / "link.py").symlink_to(folder.parent / "code.py")
    path = written(folder, reference, init)
    campaigns, absent = named_campaigns([folder], Overrides())
    assert (len(campaigns), len(absent)) == ((0, 1) if outside else (1, 0))
    assert all("--allow-code" in item.reason for item in absent)
    allowed, _ = named_campaigns([path], Overrides(allow_code=(folder.parent,)))
    assert len(allowed) == 1


def test_a_folder_stands_for_the_campaigns_in_it(folder: Path) -> None:
    path = written(folder)
    (folder / "campaign-large.yml").write_text(path.read_text().replace("1000", "2000"))
    (folder / "notes.yaml").write_text("[]")
    hidden = folder / ".old"
    hidden.mkdir()
    (hidden / "campaign.yaml").write_text("[]")
    (folder / "campaign-broken.yaml").write_text("version: 1\n")
    campaigns, (broken,) = named_campaigns([folder.parent], Overrides())
    assert sorted(campaign.spec.sizes[0].label for campaign in campaigns) == ["n=1000", "n=2000"]
    assert "campaign-broken.yaml" in broken.file and broken.reason
    with pytest.raises(CampaignError):
        named_campaigns([folder / "campaign-broken.yaml"], Overrides())
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(CampaignError, match="no campaign file"):
        named_campaigns([empty], Overrides())


def test_a_path_in_the_base_is_followed_to_the_users_own_files_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder)
    known = champion(SMALL, OLD, 2.0, file=str(path))
    campaigns, absent = known_campaigns([known, known], Overrides())
    assert [campaign.path for campaign in campaigns] == [path] and not absent
    for file, reason in (("", "does not tell"), (str(folder / "none.yaml"), "not there any more")):
        campaigns, absent = known_campaigns([replace(known, file=file)], Overrides())
        assert not campaigns and reason in absent[0].reason
    if path.stat().st_uid == 0:  # tests run as root
        os.chown(path, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    campaigns, absent = known_campaigns([known], Overrides())
    assert not campaigns and "belongs to another user" in absent[0].reason


def test_a_device_that_is_not_here_makes_its_campaign_wait(folder: Path) -> None:
    campaign = load_campaign(written(folder), Overrides(device="opencl:999"))
    plan = plan_of([champion(SMALL, OLD, 2.0)], [campaign], "1", every=False)
    assert not plan.cases and "opencl:999" in plan.absent[0].reason

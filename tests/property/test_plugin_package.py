"""A transform of a package of its own: installed, found, offered, lowered and executed like the others."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cli.main import app
from evo.campaign import load_campaign
from evo.plugins import TRANSFORM_GROUP, PluginError, plugins, transforms
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves, survey
from genome.spec import Assumptions, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "plugin"
GENE = Gene.of("reciprocal", Site("sum", "divisor[0]"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel of the package holds: its modules, its name and its entry points."""
    target = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    for module in project["tool"]["setuptools"]["packages"]:
        shutil.copytree(PACKAGE / module, target / module)
    name, version = project["project"]["name"], project["project"]["version"]
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["project"]["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items()) for group, points in groups
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return target


@pytest.fixture
def plugged(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(installed))
    importlib.invalidate_caches()
    return installed


def test_without_the_package_there_is_no_such_transform() -> None:
    assert "reciprocal" not in {transform.name for transform in transforms()}


def test_an_installed_transform_is_offered_and_refuses_near_misses(plugged: Path) -> None:
    found = transforms()
    assert [transform.name for transform in found] == [*(t.name for t in BUILTIN), "reciprocal"]
    spec = load_campaign(ROOT / "examples" / "softmax" / "campaign.yaml").spec
    offered = moves(spec, Genome(), found, Target.OPENCL, DeviceLimits())
    assert [move.site for move in offered if move.transform.name == "reciprocal"] == [GENE.site]
    strict = spec.__class__(**{**spec.__dict__, "assumptions": Assumptions(no_alias=True)})
    refused = survey(strict, Genome(), found, Target.OPENCL, DeviceLimits())[1]
    assert [move.grant for move in refused if move.transform.name == "reciprocal"] == ["assume.reassociation"]
    stencil = load_campaign(ROOT / "examples" / "stencil" / "campaign.yaml").spec
    assert not [
        m for m in moves(stencil, Genome(), found, Target.CUDA, DeviceLimits()) if m.transform.name == "reciprocal"
    ]


def test_an_installed_transform_keeps_the_result(plugged: Path, opencl_run) -> None:
    spec = load_campaign(ROOT / "examples" / "softmax" / "campaign.yaml").spec
    lanes = Gene.of("cooperate", Site("r", "parallel.x"), threads=32, inner=4)
    plain = lower(spec, Genome(), transforms(), Target.OPENCL, DeviceLimits())
    variants = [
        lower(spec, Genome((*others, GENE)), transforms(), Target.OPENCL, DeviceLimits()) for others in ((), (lanes,))
    ]
    for variant in variants:
        assert isinstance(plain, Variant) and isinstance(variant, Variant) and not variant.skipped
        assert "sum_inverse" in variant.source and "/ sum;" in variant.source
        for rows, cols in ((67, 37), (3, 129), (1, 1)):
            sizes = ProblemSize((("rows", rows), ("cols", cols))).env
            given = {"x": np.random.default_rng(1).normal(0, 2, rows * cols)}
            expected, got = opencl_run(spec, plain, sizes, given), opencl_run(spec, variant, sizes, given)
            np.testing.assert_allclose(got["y"], expected["y"], rtol=1e-5)


def test_the_command_line_knows_it(plugged: Path) -> None:
    result = CliRunner().invoke(app, ["inspect", str(ROOT / "examples" / "softmax" / "campaign.yaml")])
    assert result.exit_code == 0
    assert "reciprocal" in result.output


BROKEN = {
    "nowhere:Thing": "cannot be loaded: ModuleNotFoundError",
    "json:dumps": "has no name, phase, targets",
    "genome.transforms.promote:Promote": "two transforms are named promote",
}


@pytest.mark.parametrize("value", BROKEN)
def test_what_cannot_be_used_is_one_clear_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("thing", value, TRANSFORM_GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == TRANSFORM_GROUP else [])
    with pytest.raises(PluginError, match=BROKEN[value]):
        transforms()
    result = CliRunner().invoke(app, ["inspect", str(ROOT / "examples" / "gelu" / "campaign.yaml")])
    assert result.exit_code == 2 and "Traceback" not in result.output
    assert not plugins("evo_tune.nothing")

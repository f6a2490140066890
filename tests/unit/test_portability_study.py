"""Study files: what is wrong is told with file, line and field; and what the command writes."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import app
from evo.campaign_types import CampaignError
from evo.portability.study import load_study

DATA = Path(__file__).parents[1] / "data" / "portability"
GOOD = (DATA / "study.yaml").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(DATA, tmp_path / "s")
    return tmp_path / "s"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["portability", *map(str, arguments)])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", r"study.yaml:1: version: .*version: 1"),
        ("name: blur on", "nam: blur on", r"study.yaml:2: nam: unknown field; did you mean 'name'"),
        ("units: 40", "unit: 40", r"study.yaml:6: devices\[0\].unit: unknown field; did you mean 'units'"),
        ("units: 40", "units: -1", r"study.yaml:6: devices\[0\].units: expected a number of at least 1, got -1"),
        ("replay:a.json", "replay:x.json", r"study.yaml:6: devices\[0\].device: no such file"),
        ("replay:a.json", "replay:study.yaml", r"study.yaml:6: devices\[0\].device: .*no valid JSON"),
        ("replay:a.json", "gpu0", r"study.yaml:6: devices\[0\]: expected cuda:N, .*got 'gpu0'"),
        ("replay:a.json", "replay:b.json", r"study.yaml:7: devices\[1\]: 'replay:b.json' is there already"),
        ('"replay:c.json"', '"opencl:0"', r"study.yaml:8: devices\[2\].fixed: is for recorded spaces"),
        ("{cache:", "{vec:", r"study.yaml:8: devices\[2\].fixed.vec: the recording tells it itself"),
        ("{name: blur,", "{name: sharpen,", r"study.yaml:6: devices\[0\]: is a recording of 'blur', which"),
        ("devices:", "sizes: [n=3]\ndevices:", r"study.yaml:5: sizes\[0\]: no kernel has the size 'n=3'"),
        ("devices:", "keep: 1.5\ndevices:", r"study.yaml:5: keep: expected a number of at most 1.0, got 1.5"),
        ("flops: 2.0e+9, ", "", r"study.yaml:4: kernels\[0\].work.flops: required field is missing"),
        ("devices:", "knowledge: here\ndevices:", r"study.yaml:5: knowledge: expected auto, none or"),
    ],
)
def test_mistakes_are_told_with_line_and_field(folder: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    (folder / "study.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(CampaignError) as caught:
        load_study(folder / "study.yaml")
    assert re.search(told, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("devices: []", "devices: expected at least 1 entry"),
        ("devices: [opencl:0]", "kernels: the study names opencl:0, and no kernel that runs there"),
        ("kernels: [{entry: x}]\ndevices: [replay:a.json]", r"kernels\[0\]: expected `campaign: FILE`"),
        ("kernels: [{campaign: no.yaml}]\ndevices: [opencl:0]", r"kernels\[0\].campaign: no such file"),
        ("kernels: [blur, other]\ndevices: [replay:a.json]", r"kernels\[1\]: no recording is of 'other'"),
        ("{", "not valid YAML"),
        ("- a", "expected fields"),
    ],
)
def test_files_that_are_no_study(folder: Path, text: str, told: str) -> None:
    (folder / "study.yaml").write_text(f"version: 1\n{text}\n" if text[0] not in "{-" else text)
    result = run(folder / "study.yaml")
    assert result.exit_code == 2
    assert re.search(told, result.output), result.output
    assert "Traceback" not in result.output


def test_a_missing_file_and_wrong_options(folder: Path) -> None:
    assert "expected a study file" in run(folder / "no.yaml").output
    assert "--what-if: expected one of" in run(folder / "study.yaml", "--what-if", "speed=2x").output
    assert "the study runs on no 'cuda:3'" in run(folder / "study.yaml", "--device", "cuda:3").output
    (folder / "taken").write_text("")
    assert "taken is a file" in run(folder / "study.yaml", "-o", folder / "taken").output


def test_recordings_need_no_kernels_and_no_base(folder: Path) -> None:
    (folder / "study.yaml").write_text('version: 1\nknowledge: none\ndevices: ["replay:a.json", "replay:b.json"]\n')
    study = load_study(folder / "study.yaml")
    assert [(kernel.name, kernel.size) for kernel in study.recorded] == [("blur", "x=512,y=512")]


def test_what_the_command_writes(folder: Path) -> None:
    out = folder / "out"
    result = run(folder / "study.yaml", "--json", "-o", out, "--what-if", "bandwidth=2x,sms=80")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data == json.loads((out / "portability.json").read_text())
    answer = data["what_if"]["cases"][0]
    assert [row["device"] for row in answer["outlooks"]] == ["Made-up A"]
    assert answer["error"]["pairs"] >= 1
    assert {row["device"] for row in answer["unknown"]} == {"Made-up B", "Made-up C"}
    rows = list(csv.DictReader(io.StringIO((out / "matrix.csv").read_text())))
    efficiency = {(row["variant"], row["device"]): row["efficiency"] for row in rows}
    for name, line in zip(data["matrix"][0]["rows"], data["matrix"][0]["efficiency"], strict=True):
        for device, value in zip(data["matrix"][0]["devices"], line, strict=True):
            assert efficiency[name, device] == ("" if value is None else repr(value))
    genes = list(csv.DictReader(io.StringIO((out / "genes.csv").read_text())))
    assert len(genes) == sum(len(gene["effects"]) for gene in data["genes"])
    for picture in out.glob("*.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(list(out.glob("*.png"))) == 2


def test_the_page_stands_alone_and_shows_names_as_text(folder: Path) -> None:
    text = (folder / "a.json").read_text()
    (folder / "a.json").write_text(text.replace("Made-up A", "<script>alert(1)</script>"))
    assert run(folder / "study.yaml", "-o", folder / "out").exit_code == 0
    page = (folder / "out" / "portability.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)


def test_tables_on_the_terminal(folder: Path) -> None:
    shown = run(folder / "study.yaml", "-o", folder / "out", "--what-if", "bandwidth=2x").output
    for title in ("Efficiency", "What to ship", "Genes of the champions elsewhere", "a model, not a measurement"):
        assert title in shown
    assert "PP over the device set a Made-up A, b Made-up B, c Made-up C" in " ".join(shown.split())

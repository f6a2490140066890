"""Files into a real base: everything in them or nothing, once however often, and the optimum is what it is there."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import uuid
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cli import kb_common
from cli.main import app
from evaluator.recording import read_recording, times_elsewhere
from evaluator.result import DeviceInfo, Toolchain
from evo.campaign import load_campaign
from evo.campaign_replay import recorded_space
from evo.campaign_types import CampaignError
from evo.evolve import evolve
from evo.importing import import_file
from evo.memory import NoMemory
from evo.progress import SilentObserver
from evo.wire_replay import assemble_replay, remembered_elsewhere
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.replay import spec_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from knowledge.errors import KnowledgeError
from knowledge.features import kernel_record
from knowledge.filters import Filter
from knowledge.store import KnowledgeBase

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "tests" / "data" / "published" / "parameters.json"
PARAMS = {"bx": [16, 32, 64, 128], "by": [1, 2, 4], "vec": [1, 2, 4], "mode": ["row", "col"], "fixed": [7]}
Rows = list[tuple[tuple[Any, ...], float | None]]


def name() -> str:
    return f"kernel_{uuid.uuid4().hex[:12]}"


def times(slope: float = 1.0) -> Rows:
    """Every configuration with a time, every seventh without one; smooth enough to be learnt."""
    found: Rows = []
    for number, row in enumerate(product(*PARAMS.values())):
        bx, by, vec, mode, _ = row
        ms = 1 + abs(math.log2(bx) - 6) + slope * abs(math.log2(by) - 1) + 0.5 * abs(math.log2(vec) - 2)
        found.append((row, None if number % 7 == 3 else ms + (0.3 if mode == "row" else 0.0) + number * 1e-4))
    return found


def table(kernel: str, device: str, rows: Rows, size: Any = (4096, 512)) -> dict[str, Any]:
    lines = [[*row, "ok" if ms else "CompilationFailedConfig", ms] for row, ms in rows]
    return {"kernel": kernel, "device": device, "problem_size": size, "params": PARAMS, "rows": lines}


def kernel_tuner(kernel: str, device: str, rows: Rows) -> dict[str, Any]:
    cache = {
        ",".join(map(str, row)): {**dict(zip(PARAMS, row, strict=True)), "time": ms or "CompilationFailedConfig"}
        for row, ms in rows
    }
    return {"kernel_name": kernel, "device_name": device, "problem_size": [4096, 512], "tune_params_keys": [*PARAMS],
            "cache": cache}  # fmt: skip


def t4(kernel: str, device: str, rows: Rows) -> dict[str, Any]:
    results = [
        {"configuration": dict(zip(PARAMS, row, strict=True)), "invalidity": "correct" if ms else "compile",
         "measurements": [{"name": "time", "value": ms}] if ms else []}
        for row, ms in rows
    ]  # fmt: skip
    return {"results": results, "metadata": {"kernel": kernel, "device": device, "problem_size": [4096, 512]}}


def written(path: Path, data: Any) -> Path:
    opener: Callable[..., Any] = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as file:
        json.dump(data, file)
    return path


def fastest(rows: Rows) -> float:
    return min(ms for _, ms in rows if ms)


@pytest.mark.parametrize(("form", "suffix"), [(table, ".json"), (kernel_tuner, ".json.gz"), (t4, ".json.xz")])
def test_a_recorded_space_is_known_with_all_its_rows(
    form: Callable[..., Any], suffix: str, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    kernel, rows = name(), times()
    file = written(tmp_path / f"space{suffix}", form(f"{kernel} (a remark)", "NVIDIA Test A100", rows))
    before = knowledge_base.counts()
    done = import_file(knowledge_base, file)
    assert (done.what, done.rows, done.fresh, done.best_ms) == ("recording", len(rows), len(rows), fastest(rows))
    assert knowledge_base.counts()["evaluations"] - before["evaluations"] == len(rows)
    (best,) = knowledge_base.best(kernel, device="a100")
    assert best.best_ms == fastest(rows) and best.size == "x=4096,y=512"
    defined = dict(option.removeprefix("-D").split("=") for option in best.options)
    values, _ = next(row for row in rows if row[1] == fastest(rows))
    assert defined == {key: str(value) for key, value in zip(PARAMS, values, strict=True) if key != "fixed"}
    (campaign,) = knowledge_base.history(Filter(kernel=kernel), 5)
    assert campaign.failed == sum(ms is None for _, ms in rows) and campaign.finished
    outcomes = knowledge_base.outcomes(campaign.id)
    assert sorted(o.evaluations[0].timing.median_ms for o in outcomes if o.evaluations[0].timing) == sorted(
        ms for _, ms in rows if ms
    )
    again = knowledge_base.counts()
    assert import_file(knowledge_base, file).fresh == 0 and knowledge_base.counts() == again


def test_the_same_recording_in_another_format_is_not_doubled(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    kernel, rows = name(), times()
    assert import_file(knowledge_base, written(tmp_path / "a.json", kernel_tuner(kernel, "D", rows))).fresh
    other = {**kernel_tuner(kernel, "D", rows), "more": "that nobody reads"}
    assert import_file(knowledge_base, written(tmp_path / "b.json.gz", other)).fresh == 0


def test_another_recording_of_the_same_device_may_change_the_optimum(
    knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    """The first optimum fails in the second recording, all else is as it was."""
    kernel, rows = name(), times()
    import_file(knowledge_base, written(tmp_path / "a.json", table(kernel, "D", rows)))
    second = [(row, None if ms == fastest(rows) else ms) for row, ms in rows]
    import_file(knowledge_base, written(tmp_path / "b.json", table(kernel, "D", second)))
    assert [row.best_ms for row in knowledge_base.best(kernel)] == [fastest(second)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"params": {"a": [1, 2]}, "rows": [[1, "ok", 1.0], [2, "ok"]]}, "rows[1]: expected 1 values"),
        ({"kernel_name": "k", "cache": {"1": {}}}, "not as its format says"),
        ({"params": {"a": [1, 2]}, "rows": [[1, "ok", 1.0], [2, "ok", 2.0]]}, "name it with --device"),
        ({"records": [{"kernel": "k"}]}, "records[0]: precision: expected a text"),
        ({"records": []}, "records: expected a list"),
        ([1], "expected a JSON object"),
        ({"other": 1}, "expected 'cache'"),
    ],
)
def test_a_bad_file_leaves_nothing_behind(data: Any, words: str, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    before = knowledge_base.counts()
    with pytest.raises((CampaignError, KnowledgeError)) as error:
        import_file(knowledge_base, written(tmp_path / "bad.json", data))
    assert words in str(error.value) and "bad.json" in str(error.value)
    assert knowledge_base.counts() == before


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".json.xz"])
def test_a_cut_off_file_leaves_nothing_behind(suffix: str, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    file = written(tmp_path / f"cut{suffix}", table(name(), "D", times()))
    file.write_bytes(file.read_bytes()[:-40])
    before = knowledge_base.counts()
    with pytest.raises(CampaignError, match=r"cut\.json"):
        import_file(knowledge_base, file)
    assert knowledge_base.counts() == before


@pytest.mark.parametrize("suffix", [".json.gz", ".json.xz"])
def test_a_damaged_file_leaves_nothing_behind(suffix: str, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    file = written(tmp_path / f"hurt{suffix}", table(name(), "D", times()))
    data, before = file.read_bytes(), knowledge_base.counts()
    for place in (15, 30, len(data) // 2, len(data) - 9):
        file.write_bytes(data[:place] + bytes(byte ^ 0xFF for byte in data[place : place + 8]) + data[place + 8 :])
        with pytest.raises((CampaignError, KnowledgeError), match=r"hurt\.json"):
            import_file(knowledge_base, file)
    assert knowledge_base.counts() == before


HOSTILE = ["'; DROP TABLE kernel; --", '"); DELETE FROM variant; --', "%", "_" * 9, "a\0b", "\ud800", "[bold]x[/bold]",
           "\x1b[2J\x1b[31mred", "../../etc/passwd", "{{7*7}}", "%(name)s :name $1", "x" * 5000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_names(
    text: str, knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"imported {text}"  # other tests use some of these names in the same base
    rows: Rows = [((16, 1, 1, text, 7), 2.0), ((32, 1, 1, "col", 7), 1.0)]
    import_file(knowledge_base, written(tmp_path / "space.json", table(text, f"device of {text}", rows)))
    known = knowledge_base.best(text, limit=100)
    assert known and {row.kernel for row in known} == {known[0].kernel}
    assert known[0].best_ms == 1.0 and knowledge_base.counts()["kernels"] > 0
    assert knowledge_base.top(Filter(kernel=text, device=text[:50].replace("\0", "")[:1] or None), None, 3) is not None
    monkeypatch.setattr("cli.kb.open_base", lambda url: _Kept(knowledge_base))
    monkeypatch.setattr("cli.kb_list.open_base", lambda url: _Kept(knowledge_base))
    for command in ("best", "top", "history", "kernels", "devices"):
        arguments = ["kb", command, "--kernel", known[0].kernel, "--limit", "3"]
        shown = CliRunner().invoke(app, arguments)
        assert shown.exit_code == 0, shown.output
        assert all(char.isprintable() or char == "\n" for char in shown.output)
        assert json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)


class _Kept:
    """The shared base for a command that would close its own."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base

    def __enter__(self) -> KnowledgeBase:
        return self._base

    def __exit__(self, *_: object) -> None:
        pass


def test_a_search_begins_with_what_other_devices_know(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    kernel = name()
    files = {
        device: written(tmp_path / f"{device}.json", table(kernel, device, times(slope)))
        for device, slope in (("here", 1.1), ("there", 1.0), ("elsewhere", 0.9))
    }
    sparse = written(tmp_path / "sparse.json", table(kernel, "sparse", times()[:20]))
    for file in (*files.values(), sparse, written(tmp_path / "x.json", table(name(), "there", times()))):
        import_file(knowledge_base, file)
    (tmp_path / "campaign.yaml").write_text(
        yaml.safe_dump({"version": 1, "target": f"replay:{files['here']}", "budget": {"evaluations": 6}})
    )
    campaign = load_campaign(tmp_path / "campaign.yaml")
    recording = read_recording(files["here"])
    space = recorded_space(recording, kernel)
    found = remembered_elsewhere(knowledge_base, campaign, space)
    assert sorted(item.device for item in found) == ["elsewhere", "there"]
    for item in found:
        straight = times_elsewhere(recording, read_recording(files[item.device]))
        np.testing.assert_array_equal(times_elsewhere(recording, item), straight)
    parts = assemble_replay(campaign, space, NoMemory(), found)
    result = evolve(campaign, parts, observer=SilentObserver())
    assert result.best_evaluations[0].timing is not None
    assert result.best_evaluations[0].timing.median_ms <= 1.05 * recording.best_ms


def test_a_recording_speaks_for_its_own_kernel_alone(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    kernel, rows = name(), times()
    recording = read_recording(written(tmp_path / "space.json", table(kernel, "there", rows)))
    import_file(knowledge_base, tmp_path / "space.json")
    own = kernel_record(recorded_space(recording, kernel).spec, None)
    other = replace(own, digest=uuid.uuid4().hex[:16], name=name(), source="text")
    device, tools = DeviceInfo("d", "here", "v", "a", "gpu", 1, 1), Toolchain("p", "d", "c")
    (prior,) = knowledge_base.priors(own, device, tools, (), 100)
    assert prior.best_ms == fastest(rows) and prior.kernel == kernel
    assert len(knowledge_base.training_rows(own, device, 10_000)) >= len(rows)
    for stranger in (other, replace(other, source="")):
        assert all(prior.kernel != kernel for prior in knowledge_base.priors(stranger, device, tools, (), 100))
        found = knowledge_base.training_rows(stranger, device, 100_000)
        assert not any(gene.site.label in PARAMS for row in found for gene in row.genome.genes)
    assert all(row.kernel != kernel for row in knowledge_base.similar(other, 100))


def test_published_parameters_have_no_time(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    data = json.loads(PUBLISHED.read_text())
    suffix = uuid.uuid4().hex[:8]
    for record in data["records"]:
        record["kernel"] += suffix
    file = written(tmp_path / "parameters.json.xz", data)
    done = import_file(knowledge_base, file)
    assert (done.what, done.fresh) == ("published", len(data["records"]))
    assert import_file(knowledge_base, file).fresh == 0
    wanted = Filter(kernel=f"Alpha{suffix}", vendor="amd", dtype="float16")
    (item,) = knowledge_base.recommended(wanted, 10)
    (record,) = (
        record for record in data["records"]
        if record["kernel"].startswith("Alpha") and record["vendor"] == "AMD" and record["precision"] == "Half"
    )  # fmt: skip
    assert {gene.site.label: gene.values["value"] for gene in item.genome.genes} == {
        key: str(value) for key, value in record["params"].items()
    }
    assert knowledge_base.best(f"Alpha{suffix}") == ()
    (row,) = knowledge_base.kernels(Filter(kernel=f"Beta{suffix}"), 5)
    assert row.published == 4 and row.best is None


def test_the_folder_of_a_run_is_known_as_its_kernel(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    example = tmp_path / "campaign"
    example.mkdir()
    for file in ("kernel.cu", "reference.py", "campaign.yaml"):
        (example / file).write_text((ROOT / "examples" / "vector_add" / file).read_text())
    campaign = load_campaign(example / "campaign.yaml")
    spec = campaign.spec
    known = moves(spec, Genome(), BUILTIN, Target.OPENCL, DeviceLimits())
    move = next(move for move in known if move.transform.name == "coarsen_blocked")
    gene = Gene.of(move.transform.name, move.site, **{key: values[0] for key, values in move.domain.items()})
    variant = lower(spec, Genome((gene,)), BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(variant, Variant)
    best = {
        "kernel": spec.name, "device": "A run's device", "toolchain": "PoCL 3 | driver | clang", "entry": None,
        "sizes": [{"size": size.env, "baseline_ms": 4.0, "best_ms": 2.0, "speedup": 2.0} for size in spec.sizes],
        "genome": variant.genome.to_json(), "variant": variant.digest(), "improved": True, "agent": "geometry",
        "speedup": {"median": 2.0, "low": 1.9, "high": 2.1}, "campaign_file": "../campaign.yaml",
    }  # fmt: skip
    folder = example / "out"
    folder.mkdir()
    written(folder / "best.json", best)
    done = import_file(knowledge_base, folder)
    assert done.what == "run" and done.fresh == 2 * len(spec.sizes)
    assert import_file(knowledge_base, folder).fresh == 0
    rows = knowledge_base.best(kernel_record(spec, spec_kernel(spec)), device="A run's device")
    assert {row.size for row in rows} == {size.label for size in spec.sizes}
    (folder / "best.json").write_text(json.dumps({**best, "sizes": [{"size": "N=1"}]}))
    with pytest.raises(CampaignError, match=r"sizes\[0\]: expected size, baseline_ms and best_ms"):
        import_file(knowledge_base, folder)


def test_import_and_best_from_the_command_line(
    knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, rows = name(), times()
    for module in ("cli.kb", "cli.kb_import"):
        monkeypatch.setattr(f"{module}.open_base", lambda url: _Kept(knowledge_base))
    file = written(tmp_path / "space.json", table("", "Device X", rows, size=None))
    done = CliRunner().invoke(app, ["kb", "import", str(file), "--kernel", kernel, "--json"])
    assert done.exit_code == 0 and json.loads(done.output)[0]["size"] == "recorded=1"
    found = CliRunner().invoke(app, ["kb", "best", "--kernel", kernel, "--device", "device x", "--json"])
    assert [row["best_ms"] for row in json.loads(found.output)] == [fastest(rows)]
    bad = CliRunner().invoke(app, ["kb", "import", str(file), str(tmp_path / "none.json"), "--kernel", kernel])
    assert bad.exit_code == 2 and "none.json: cannot be read" in bad.output and "Traceback" not in bad.output


def test_what_is_printed_of_a_base_moves_no_cursor() -> None:
    assert kb_common.printable("a\x1b[2Jb\rc\u202ed") == "a\ufffd[2Jb\ufffdc\ufffdd"

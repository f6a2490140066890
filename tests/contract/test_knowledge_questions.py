"""Questions to a real base: conditions agree with brute force, trees with what was recorded; SQL changes nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import app
from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.variant import Target, Variant
from knowledge.errors import KnowledgeError
from knowledge.features import KERNEL_FEATURE_VERSION, KERNEL_FEATURES
from knowledge.filters import Filter
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase

DEVICES = (
    DeviceInfo("cuda:0", "NVIDIA H200", "NVIDIA", "sm_90", "gpu", 132, 2**37),
    DeviceInfo("cuda:0", "NVIDIA A100", "NVIDIA", "sm_80", "gpu", 108, 2**36),
    DeviceInfo("opencl:0", "Instinct MI300", "AMD", "gfx942", "gpu", 304, 2**37),
)
TOOLS = (Toolchain("CUDA 13.0", "580", "nvrtc 13.0"), Toolchain("PoCL 3.0", "3.0", "clang 14"))
SIZES = ("M=64,N=64", "M=64,N=4096", "M=1024,N=1024")
STRIP = Gene.of("strip", Site("k", "reduction[0]"), factor=16)
UNROLL = Gene.of("unroll", Site("k_inner"), factor=4)
JAM = Gene.of("jam", Site("row"), factor=2)


def kernel_of(dtype: str) -> KernelRecord:
    features = tuple(float(name == dtype) for name in KERNEL_FEATURES)
    digest = uuid.uuid4().hex[:16]
    return KernelRecord(f"asked_{digest}", digest, "text", "entry", features, KERNEL_FEATURE_VERSION)


def outcome(
    genes: tuple[Gene, ...], times: dict[str, float], number: int, speedup: float | None, parents: tuple[str, ...] = ()
) -> Outcome:
    genome = Genome(genes)
    text = "\n".join(("int i;", *(gene.transform for gene in genes), "end"))
    variant = Variant("k", Target.CUDA, text, (), options=("-DX=1",), genome=genome, proposed=genome)
    evaluations = tuple(
        Evaluation(variant.digest(), size, Status.OK, timing=Timing((ms,), ms, ms, ms)) for size, ms in times.items()
    )
    return Outcome(variant, evaluations, (), Lineage(f"agent{number}", parents, genes[-1:], number), speedup)


def campaign(base: KnowledgeBase, kernel: KernelRecord, device: DeviceInfo, tools: Toolchain) -> int:
    return base.start_campaign(CampaignRecord("c", kernel, device, tools, 1, "0"), resume=False)


def best_ms(device: int, tools: int, size: int) -> float:
    return 1.0 + device + 10 * tools + 100 * size


@pytest.fixture(scope="module")
def asked(knowledge_base: KnowledgeBase) -> dict[str, KernelRecord]:
    """A kernel of two types at three sizes on three devices with two toolchains: baseline, and one that is faster."""
    kernels = {dtype: kernel_of(dtype) for dtype in ("float32", "float16")}
    for kernel in kernels.values():
        for (d, device), (t, tools) in product(enumerate(DEVICES), enumerate(TOOLS)):
            number = campaign(knowledge_base, kernel, device, tools)
            times = {size: best_ms(d, t, s) for s, size in enumerate(SIZES)}
            knowledge_base.record(number, outcome((), {size: 3 * ms for size, ms in times.items()}, 0, 1.0))
            knowledge_base.record(number, outcome((STRIP,), times, 1, 3.0))
            knowledge_base.finish(number, {})
    return kernels


@pytest.mark.parametrize(
    ("conditions", "devices", "tools", "sizes"),
    [
        ({}, (0, 1, 2), (0, 1), (0, 1, 2)),
        ({"device": "a100"}, (1,), (0, 1), (0, 1, 2)),
        ({"device": "SM_9"}, (0,), (0, 1), (0, 1, 2)),
        ({"vendor": "nvid"}, (0, 1), (0, 1), (0, 1, 2)),
        ({"architecture": "gfx"}, (2,), (0, 1), (0, 1, 2)),
        ({"device": "%"}, (), (), ()),
        ({"toolchain": "cuda 13"}, (0, 1, 2), (0,), (0, 1, 2)),
        ({"toolchain": "clang"}, (0, 1, 2), (1,), (0, 1, 2)),
        ({"ranges": (("N", 65, 4096),)}, (0, 1, 2), (0, 1), (1, 2)),
        ({"ranges": (("N", 64, 4095), ("M", 65, 10**9))}, (0, 1, 2), (0, 1), (2,)),
        ({"ranges": (("K", 0, 2**63 - 1),)}, (), (), ()),
        ({"since": datetime.now(UTC) - timedelta(days=1)}, (0, 1, 2), (0, 1), (0, 1, 2)),
        ({"until": datetime.now(UTC) - timedelta(days=1)}, (), (), ()),
    ],
)
def test_conditions_agree_with_brute_force(
    conditions: dict[str, object], devices: tuple[int, ...], tools: tuple[int, ...], sizes: tuple[int, ...],
    knowledge_base: KnowledgeBase, asked: dict[str, KernelRecord],
) -> None:  # fmt: skip
    kernel = asked["float32"].name
    wanted = Filter(**conditions)  # type: ignore[arg-type]
    expected = sorted(best_ms(d, t, s) for d, t, s in product(devices, tools, sizes))
    rows = knowledge_base.best(kernel, wanted=wanted, limit=100)
    assert sorted(row.best_ms for row in rows) == expected
    wanted = Filter(kernel=kernel, **conditions)  # type: ignore[arg-type]
    top = knowledge_base.top(wanted, None, 1)
    assert sorted(row.median_ms for row in top) == expected and {row.rank for row in top} <= {1}
    assert len(knowledge_base.top(wanted, None, 5)) == 2 * len(expected)
    history = knowledge_base.history(wanted, 100)
    assert len(history) == len(devices) * len(tools)
    assert all(row.best == 3.0 and row.evaluations == 6 for row in history)
    lines = knowledge_base.stats(wanted).kernels
    assert len(lines) == (len(devices) if expected else 0)
    assert all((row.campaigns, row.evaluations) == (len(tools), 2 * len(tools) * len(sizes)) for row in lines)
    assert all(row.best_speedup == pytest.approx(3.0) for row in lines)


@pytest.mark.parametrize("command", ["best", "top", "history", "kernels", "devices", "stats"])
def test_tables_are_csv_and_json_as_well(
    command: str, knowledge_base: KnowledgeBase, asked: dict[str, KernelRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("kb", "kb_list"):
        monkeypatch.setattr(f"cli.{module}.open_base", lambda url: kept(knowledge_base))
    question = ["kb", command, "--kernel", asked["float32"].name, "--vendor", "NVIDIA", "--limit", "100"]
    question = question[:-2] if command == "stats" else question
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(app, [*question, "--csv"]).output)))
    data = json.loads(CliRunner().invoke(app, [*question, "--json"]).output)
    listed = data["kernels"] if command == "stats" else data
    assert rows and len(rows) == len(listed)
    assert CliRunner().invoke(app, question).output.count("NVIDIA") >= (0 if command == "kernels" else len(rows))


def test_types_of_elements(knowledge_base: KnowledgeBase, asked: dict[str, KernelRecord]) -> None:
    for dtype, kernel in asked.items():
        found = {row.name for row in knowledge_base.kernels(Filter(dtype=dtype), 10_000)}
        assert {record.name for record in asked.values()} & found == {kernel.name}
        assert knowledge_base.best(kernel.name, wanted=Filter(dtype=dtype))
        assert not knowledge_base.best(kernel.name, wanted=Filter(dtype="float64"))


def test_kernels_and_devices_count_what_fits(knowledge_base: KnowledgeBase, asked: dict[str, KernelRecord]) -> None:
    kernel = asked["float32"].name
    (row,) = knowledge_base.kernels(Filter(kernel=kernel, vendor="NVIDIA", ranges=(("M", 64, 64),)), 5)
    assert (row.devices, row.sizes, row.source) == (2, 2, True) and row.best == pytest.approx(3.0)
    assert knowledge_base.kernels(Filter(kernel=kernel, device="no such"), 5) == ()
    found = knowledge_base.devices(Filter(kernel=kernel), 10)
    assert [row.name for row in found] == sorted(device.name for device in DEVICES)
    assert all(row.optima == len(SIZES) * len(TOOLS) for row in found)


@pytest.mark.parametrize(
    ("size", "nearest", "found", "apart"),
    [
        ("M=64,N=64", False, {0}, 0.0),
        ("M=64,N=64", True, {0}, 0.0),
        ("M=64,N=128", False, set(), 0.0),
        ("M=64,N=128", True, {0}, 0.5**0.5),  # root mean square of 0 and 1 doublings
        ("M=64,N=8192", True, {1}, 0.5**0.5),
        ("M=2048,N=2048", True, {2}, 1.0),
    ],
)
def test_sizes_match_exactly_or_with_their_distance(
    size: str, nearest: bool, found: set[int], apart: float, knowledge_base: KnowledgeBase,
    asked: dict[str, KernelRecord],
) -> None:  # fmt: skip
    rows = knowledge_base.best(asked["float32"].name, size=size, nearest=nearest, limit=100)
    assert {row.size for row in rows} == {SIZES[index] for index in found}
    assert len(rows) == len(found) * len(DEVICES) * len(TOOLS)
    assert all(row.size_distance == pytest.approx(apart) for row in rows)


def test_a_variant_is_shown_with_the_tree_of_its_parents(knowledge_base: KnowledgeBase) -> None:
    number = campaign(knowledge_base, kernel_of("float32"), DEVICES[0], TOOLS[0])
    size = SIZES[0]
    root = outcome((), {size: 8.0}, 0, 1.0)
    left = outcome((STRIP, JAM), {size: 4.0}, 1, 2.0, (root.variant.digest(),))
    right = outcome((UNROLL, JAM), {size: 2.0}, 2, 4.0, (root.variant.digest(),))
    child = outcome((STRIP, UNROLL, JAM), {size: 1.0}, 3, 8.0, (left.variant.digest(), right.variant.digest()))
    loop = outcome((STRIP, UNROLL), {size: 1.5}, 4, None, (child.variant.digest(), "f" * 16))
    for item in (root, left, right, child, loop):
        knowledge_base.record(number, item)
    found = knowledge_base.dossier(loop.variant.digest()[:12])
    assert found.genome.genes == (STRIP, UNROLL) and found.source == loop.variant.source
    tree = found.lineage
    assert tree is not None and tree.agent == "agent4" and tree.speedup is None
    known, unknown = tree.parents
    assert known.variant == child.variant.digest() and unknown.cut and not unknown.agent
    assert [parent.variant for parent in known.parents] == [left.variant.digest(), right.variant.digest()]
    shown = known.parents[0].parents[0]
    assert shown.variant == root.variant.digest() and not shown.cut and shown.parents == ()
    assert known.parents[1].parents[0].cut  # the root is in the tree already
    with pytest.raises(KnowledgeError, match="holds no variant"):
        knowledge_base.dossier("0123456789abcdef0")
    for text in ("abc", "", "%%%%", "a' OR 1=1"):
        with pytest.raises(KnowledgeError, match="is no variant"):
            knowledge_base.dossier(text)


@contextmanager
def kept(base: KnowledgeBase) -> Iterator[KnowledgeBase]:
    yield base


def test_differences_and_text_on_the_command_line(
    knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.kb_variant.open_base", lambda url: kept(knowledge_base))
    kernel = kernel_of("float32")
    number = campaign(knowledge_base, kernel, DEVICES[0], TOOLS[0])
    mark = Gene.of(f"mark_{kernel.digest}", Site("k"))
    slow, fast = outcome((STRIP, mark), {SIZES[0]: 4.0}, 0, 1.0), outcome((mark, UNROLL), {SIZES[0]: 1.0}, 1, 4.0)
    for item in (slow, fast):
        knowledge_base.record(number, item)
    digests = [item.variant.digest() for item in (slow, fast)]
    data = json.loads(CliRunner().invoke(app, ["kb", "diff", *digests, "--json"]).output)
    assert data["removed"] == [STRIP.to_json()] and data["added"] == [UNROLL.to_json()]
    assert {"-strip", "+unroll"} <= set(data["source"]) and " end" in data["source"]
    lines = CliRunner().invoke(app, ["kb", "diff", *digests]).output.splitlines()
    assert "- strip@k(factor=16)" in lines and "+ unroll@k_inner(factor=4)" in lines
    target = tmp_path / "best.cu"
    done = CliRunner().invoke(app, ["kb", "export", "--kernel", kernel.name, "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert target.read_text().endswith(fast.variant.source + "\n") and f"// variant {digests[1]}" in target.read_text()
    shown = CliRunner().invoke(app, ["kb", "show", digests[0], "--source"])
    assert shown.exit_code == 0 and slow.variant.source in shown.output
    wrong = CliRunner().invoke(app, ["kb", "export", digests[0], "-o", str(tmp_path / "base.jsonl")])
    assert wrong.exit_code == 2 and "ends in .cu" in wrong.output


HARM = (
    "DELETE FROM evaluation", "DROP TABLE variant", "CREATE TABLE mine (a int)", "COMMIT; DELETE FROM evaluation",
    "SELECT 1; SELECT 2", "COPY (SELECT 1) TO PROGRAM 'id'", "COPY (SELECT 1) TO '/tmp/evo-tune-harm'",
    "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')",
    "INSERT INTO genome (digest, genes) VALUES ('x', '[]')",
    "SELECT nextval('genome_id_seq')", "SELECT lo_import('/etc/passwd')", "not SQL", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("statement", HARM, ids=range(len(HARM)))
def test_sql_changes_and_reveals_nothing(statement: str, knowledge_base: KnowledgeBase) -> None:
    before = knowledge_base.counts()
    with pytest.raises(KnowledgeError, match="the statement failed"):
        knowledge_base.sql(statement, 10, 5.0)
    assert knowledge_base.counts() == before and not Path("/tmp/evo-tune-harm").exists()


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "RESET ROLE", "SET TRANSACTION READ WRITE"])
def test_what_ends_its_transaction_opens_no_door(statement: str, knowledge_base: KnowledgeBase) -> None:
    before = knowledge_base.counts()
    with suppress(KnowledgeError):
        knowledge_base.sql(statement, 10, 5.0)
    with pytest.raises(KnowledgeError):
        knowledge_base.sql("DELETE FROM evaluation", 10, 5.0)
    assert knowledge_base.counts() == before
    assert knowledge_base.sql("SELECT current_setting('statement_timeout')", 1, 7.0).rows == (("7s",),)


def test_sql_answers_within_its_limits(knowledge_base: KnowledgeBase) -> None:
    found = knowledge_base.sql("SELECT n, n * n AS square FROM generate_series(1, 9) n WHERE '%' LIKE '%%'", 4, 5.0)
    assert found.columns == ("n", "square") and found.more and found.rows == tuple((n, n * n) for n in range(1, 5))
    with pytest.raises(KnowledgeError, match=r"after 0\.2 s"):
        knowledge_base.sql("SELECT pg_sleep(20)", 4, 0.2)


@pytest.fixture(scope="module")
def other() -> Iterator[KnowledgeBase]:
    """A second base, with rows of its own so that ids differ."""
    folder = Path(tempfile.mkdtemp(prefix="evo-tune-test-"))
    os.chmod(folder, 0o755)
    base = KnowledgeBase.open(None, folder)
    number = campaign(base, kernel_of("float32"), DEVICES[2], TOOLS[1])
    for item in (outcome((), {"Q=1": 2.0}, 0, 1.0), outcome((JAM,), {"Q=1": 1.0}, 1, 2.0)):
        base.record(number, item)
    yield base
    base.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.xz"])
def test_a_base_in_another_base_says_the_same(
    suffix: str, knowledge_base: KnowledgeBase, other: KnowledgeBase, asked: dict[str, KernelRecord], tmp_path: Path
) -> None:
    file = tmp_path / f"base{suffix}"
    rows = knowledge_base.export(file)
    assert other.join(file)[0] == rows and other.join(file) == (rows, 0)
    for kernel in asked.values():
        assert other.best(kernel.name, limit=100) == knowledge_base.best(kernel.name, limit=100)
        wanted = Filter(kernel=kernel.name)
        assert other.top(wanted, None, 3) == knowledge_base.top(wanted, None, 3)
        ours, theirs = knowledge_base.history(wanted, 50), other.history(wanted, 50)
        assert [(row.started, row.best, row.evaluations) for row in ours] == [
            (row.started, row.best, row.evaluations) for row in theirs
        ]
        for mine, copy in zip(ours, theirs, strict=True):
            assert other.outcomes(copy.id) == knowledge_base.outcomes(mine.id)
        assert other.similar(kernel, 3)[0] == knowledge_base.similar(kernel, 3)[0]


def test_where_campaign_files_lie_stays_on_this_machine(
    asked: dict[str, KernelRecord], knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    (campaign, *_) = (row.id for row in knowledge_base.history(Filter(), 1))
    knowledge_base.save_state(campaign, "origin", {"file": "/home/somebody/secret-project/campaign.yaml", "entry": ""})
    knowledge_base.save_state(campaign, "archive", {"kept": 1})
    knowledge_base.export(tmp_path / "base.jsonl")
    text = (tmp_path / "base.jsonl").read_text()
    assert "secret-project" not in text and '"kept": 1' in text


def test_the_better_of_two_bases_is_the_optimum(
    knowledge_base: KnowledgeBase, other: KnowledgeBase, tmp_path: Path
) -> None:
    kernel = kernel_of("float32")
    for base, genes, ms in ((knowledge_base, (JAM,), 2.0), (other, (STRIP,), 3.0)):
        number = campaign(base, kernel, DEVICES[0], TOOLS[0])
        base.record(number, outcome((), {SIZES[0]: 6.0}, 0, 1.0))
        base.record(number, outcome(genes, {SIZES[0]: ms}, 1, 6.0 / ms))
    for first, second in ((knowledge_base, other), (other, knowledge_base)):
        first.export(tmp_path / "base.jsonl")
        second.join(tmp_path / "base.jsonl")
        assert [(row.best_ms, row.genome.genes) for row in second.best(kernel.name)] == [(2.0, (JAM,))]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:-9]], "no valid JSON"),
        (lambda lines: [*lines, '["nothing", {}]'], 'expected ["table"'),
        (lambda lines: [lines[0].replace("/1", "/9"), *lines[1:]], "expected"),
        (lambda lines: [*lines, '["genome", {"id": 1, "genes": [], "more": 1}]'], "rows with the columns"),
        (lambda lines: [*lines, '["problem", {"kernel_id": -1}]'], "the file holds no kernel -1"),
        (lambda lines: [*lines, '["genome", {"id": "x", "digest": "damaged", "genes": []}]'], "genome: "),
        (lambda lines: [lines[0].replace('"000', '"999'), *lines[1:]], "upgrade evo-tune"),
    ],
)  # fmt: skip
def test_a_damaged_file_leaves_nothing_behind(
    damage: object, words: str, knowledge_base: KnowledgeBase, other: KnowledgeBase, tmp_path: Path
) -> None:
    file = tmp_path / "base.jsonl"
    campaign(knowledge_base, kernel_of("float16"), DEVICES[1], TOOLS[0])
    knowledge_base.export(file)
    file.write_text("\n".join(damage(file.read_text().splitlines())) + "\n")  # type: ignore[operator]
    before = other.counts()
    with pytest.raises(KnowledgeError) as error:
        other.join(file)
    assert words in str(error.value) and "base.jsonl" in str(error.value)
    assert other.counts() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["best", "--kernel", "k", "--size", "big"], "--size: expected NAME=NUMBER"),
        (["top", "--range", "N=9..1"], "--range: expected the lower end first"),
        (["top", "--range", "N"], "--range: expected NAME=LOW..HIGH"),
        (["history", "--since", "soon"], "--since: expected a day"),
        (["kernels", "--dtype", "float7"], "--dtype"),
        (["similar", "--like", "/none/such.cu"], "such.cu"),
        (["import"], "FILES"),
        (["export"], "--output"),
        (["sql", "SELECT 1", "--timeout", "0"], "--timeout"),
    ],
)
def test_wrong_questions_are_one_line(options: list[str], words: str) -> None:
    outcome = CliRunner().invoke(app, ["kb", *options])
    assert outcome.exit_code == 2 and words in outcome.output
    assert outcome.output.startswith("evo-tune: ") and outcome.output.count("\n") == 1

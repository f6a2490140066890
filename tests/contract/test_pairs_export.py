"""Pairs from a real base, read back by json and PyArrow; both texts of a pair are compiled and compute the same."""

from __future__ import annotations

import gzip
import json
import lzma
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import app
from evaluator.api import Comparison, SizeComparison
from evaluator.recording import recording_of
from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile, Resources, Status, Timing, Toolchain
from evo.campaign import load_campaign
from evo.recorded_import import recorded_campaign
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.replay import spec_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from knowledge.features import kernel_record
from knowledge.records import CampaignRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase

ROOT = Path(__file__).parents[2]
DEVICE = DeviceInfo("opencl:0", "a device", "v", "x86", "cpu", 2, 1 << 30, bandwidth_gbs=40.0)
TOOLS = Toolchain("PoCL 3", "3.0", "LLVM 14")
SIZES = {"M=64,N=48,K=32": {"M": 64, "N": 48, "K": 32}, "M=16,N=16,K=16": {"M": 16, "N": 16, "K": 16}}
TILED = Genome((
    Gene.of("block_shape", Site("c", "parallel.x"), threads=8),
    Gene.of("coarsen_blocked", Site("c", "parallel.x"), factor=2),
    Gene.of("register_tile", Site("instances", "instances")),
))  # fmt: skip
UNROLLED = Genome((Gene.of("unroll", Site("k", "reduction[0]"), factor=4),))
NARROW = Genome((Gene.of("block_shape", Site("c", "parallel.x"), threads=4),))


def lowered(spec: Any, genome: Genome) -> Variant:
    found = lower(spec, genome, BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(found, Variant) and not found.skipped, found
    return found


def measured(variant: Variant, ms: float) -> tuple[Evaluation, ...]:
    profile = Profile(Bottleneck.DRAM, "because", 10.0, 20.0, 1.0, 2.0, 0.5, ("bytes",), (("l2_misses", 12.5),))
    return tuple(
        Evaluation(variant.digest(), size, Status.OK, "", Timing((ms, 2 * ms), ms, 0.9 * ms, 2 * ms),
                   Resources(32, 0, 1024, None, 0.75, (("float", 12), ("branch", 3))), profile, 0.125, compile_s=0.5)
        for size in SIZES
    )  # fmt: skip


class Told:
    """A campaign in the base: the kernel as it is (8 ms), and variants with their times."""

    def __init__(self, base: KnowledgeBase, folder: Path, licence: str | None) -> None:
        self.kernel = f"matmul_{uuid.uuid4().hex[:12]}"
        folder.mkdir()
        data = yaml.safe_load((ROOT / "examples" / "matmul" / "campaign.yaml").read_text())
        data |= {"sizes": list(SIZES.values()), "reference": None} | (
            {"licence": licence, "provenance": "https://example.org/kernels"} if licence else {}
        )
        (folder / "kernel.cu").write_text((ROOT / "examples" / "matmul" / "kernel.cu").read_text())
        (folder / "campaign.yaml").write_text(yaml.safe_dump(data))
        campaign = load_campaign(folder / "campaign.yaml")
        self.base, self.spec = base, replace(campaign.spec, name=self.kernel)
        record = kernel_record(self.spec, spec_kernel(self.spec))
        self.number = base.start_campaign(
            CampaignRecord("a campaign", record, DEVICE, TOOLS, 1, "1.2", campaign.settings), resume=False
        )
        self.before = self.add(Genome(), 8.0, 1.0, 0)

    def add(self, genome: Genome, ms: float, speedup: float | None, number: int, cached: bool = False) -> Variant:
        variant = lowered(self.spec, genome)
        lineage = Lineage("an agent", (), genome.genes, number)
        self.base.record(self.number, Outcome(variant, measured(variant, ms), (), lineage, speedup, cached=cached))
        return variant

    def refute(self, variant: Variant, number: int) -> None:
        wrong = Evaluation(variant.digest(), next(iter(SIZES)), Status.WRONG, "off by one", stage="quarantine")
        self.base.record(self.number, Outcome(variant, (wrong,), (), Lineage("verifier", generation=number), None))

    def prove(self, variant: Variant) -> None:
        rows = tuple(SizeComparison(size, 8.5, 2.5, 3.4, 3.3, 3.5) for size in SIZES)
        self.base.prove(self.number, Comparison(variant.digest(), rows, 3.4, 3.3, 3.5, True, processes=5))

    def export(self, path: Path, *arguments: str) -> Result:
        fixed = ["kb", "export", "pairs", "-o", str(path), "--kernel", self.kernel, "--url", self.base.where]
        return CliRunner().invoke(app, [*fixed, *arguments])


@pytest.fixture(scope="module")
def told(knowledge_base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Told:
    made = Told(knowledge_base, tmp_path_factory.mktemp("pairs") / "campaign", "BSD-3-Clause")
    made.prove(made.add(TILED, 2.0, 4.0, 1))
    made.add(UNROLLED, 10.0, 0.8, 2)
    made.refute(made.add(NARROW, 1.0, 8.0, 3), 4)
    made.add(Genome((*UNROLLED.genes, *NARROW.genes)), 3.0, 2.7, 5, cached=True)
    return made


def lines(path: Path) -> list[dict[str, Any]]:
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as file:  # type: ignore[operator]
        return [json.loads(line) for line in file]


def test_a_pair_holds_all_that_is_known_of_it(told: Told, tmp_path: Path) -> None:
    done = told.export(tmp_path / "pairs.jsonl")
    assert done.exit_code == 0 and "2 pairs" in done.stdout and not done.stderr, done.output
    faster, slower = lines(tmp_path / "pairs.jsonl")  # neither the refuted one nor the look-up
    assert (faster["speedup"], slower["speedup"]) == (4.0, 0.8)
    assert Genome.from_json(faster["genome"]) == TILED and Genome.from_json(slower["genome"]) == UNROLLED
    for row in (faster, slower):
        assert row["schema"] == 1 and row["kernel"] == told.kernel and row["entry"] == "matmul"
        assert (row["licence"], row["provenance"]) == ("BSD-3-Clause", "https://example.org/kernels")
        assert row["toolchain"] == {"platform": "PoCL 3", "driver": "3.0", "compiler": "LLVM 14"}
        assert row["device"]["name"] == "a device" and row["device"]["bandwidth_gbs"] == 40.0
        assert row["before"]["source"] == told.before.source and row["target"] == "opencl"
        assert {size["size"]: size["values"] for size in row["sizes"]} == SIZES
    assert faster["pair"] != slower["pair"] and (faster["evo_tune"], faster["agent"]) == ("1.2", "an agent")
    first = faster["sizes"][0]
    assert first["before"]["median_ms"] == 8.0 and first["after"]["samples_ms"] == [2.0, 4.0]
    assert first["after"]["resources"]["registers"] == 32 and first["after"]["resources"]["private_bytes"] is None
    assert first["after"]["resources"]["mix"] == {"float": 12, "branch": 3}
    assert first["after"]["profile"]["counters"] == [{"name": "l2_misses", "value": 12.5}]
    assert first["proven"]["speedup"] == 3.4 and first["proven"]["processes"] == 5
    assert slower["sizes"][0]["proven"] is None


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.xz"])
def test_only_what_was_proven_and_compressed(told: Told, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs{suffix}"
    assert told.export(path, "--proven").exit_code == 0
    (row,) = lines(path)
    assert row["speedup"] == 4.0
    assert told.export(path, "--range", "M=60..70").exit_code == 0
    assert [[size["values"]["M"] for size in row["sizes"]] for row in lines(path)] == [[64], [64]]
    assert "0 pairs" in told.export(path, "--device", "no such device").stdout


def test_parquet_holds_the_same(told: Told, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert told.export(tmp_path / "pairs.jsonl").exit_code == 0
    assert told.export(tmp_path / "pairs.parquet").exit_code == 0
    rows = parquet.read_table(tmp_path / "pairs.parquet").to_pylist()
    for row in rows:
        row["genome"] = json.loads(row["genome"])
        for side in ("before", "after"):
            row[side]["steps"] = json.loads(row[side]["steps"])
        for size in row["sizes"]:
            size["values"] = dict(size["values"])
            for side in ("before", "after"):
                size[side]["resources"]["mix"] = dict(size[side]["resources"]["mix"])
    assert rows == lines(tmp_path / "pairs.jsonl")


def test_a_kernel_without_a_licence_is_counted(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    bare = Told(knowledge_base, tmp_path / "bare", None)
    bare.add(UNROLLED, 4.0, 2.0, 1)
    done = bare.export(tmp_path / "pairs.jsonl")
    assert "1 of them state no licence" in done.stderr
    (row,) = lines(tmp_path / "pairs.jsonl")
    assert row["licence"] is None and row["provenance"] is None


def test_recorded_spaces_have_no_pairs(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    name = f"recorded_{uuid.uuid4().hex[:8]}"
    space = recording_of(name, "a device", ["a"], [((value,), float(value), "") for value in (2, 1)])
    knowledge_base.record_all(uuid.uuid4(), *recorded_campaign(space, name, ""), {})
    path = tmp_path / "pairs.jsonl"
    done = CliRunner().invoke(
        app, ["kb", "export", "pairs", "-o", str(path), "--kernel", name, "--url", knowledge_base.where]
    )
    assert done.exit_code == 0 and path.read_text() == ""


def test_other_names_are_refused_and_nothing_is_left(told: Told, tmp_path: Path) -> None:
    done = told.export(tmp_path / "pairs.csv")
    assert done.exit_code == 2 and ".parquet" in done.stderr
    missing = told.export(tmp_path / "none" / "pairs.jsonl")
    assert missing.exit_code == 2 and "Traceback" not in missing.output
    assert list(tmp_path.iterdir()) == []


def test_both_texts_compile_and_compute_the_same(told: Told, tmp_path: Path) -> None:
    cl = pytest.importorskip("pyopencl")
    assert told.export(tmp_path / "pairs.jsonl", "--proven").exit_code == 0
    (row,) = lines(tmp_path / "pairs.jsonl")
    assert row["before"]["source"] != row["after"]["source"]
    context = cl.create_some_context(interactive=False)
    for size in row["sizes"]:
        values = size["values"]
        rng = np.random.default_rng(5)
        a, b = (rng.uniform(-1, 1, (values[x], values[y])).astype(np.float32) for x, y in ("MK", "KN"))
        truth = a.astype(np.float64) @ b.astype(np.float64)
        for side in ("before", "after"):
            found = computed(cl, context, row[side], a, b, values)
            np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-4)


def computed(cl: Any, context: Any, program: dict[str, Any], a: Any, b: Any, values: dict[str, int]) -> Any:
    """C = A B by the only step of a program, which names its grid by sizes or numbers."""
    (step,) = program["steps"]
    flags, queue = cl.mem_flags, cl.CommandQueue(context)
    out = np.full((values["M"], values["N"]), np.nan, np.float32)
    arrays = {"A": a, "B": b, "C": out}
    buffers = {n: cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=x) for n, x in arrays.items()}
    kernel = getattr(cl.Program(context, program["source"]).build(options=program["options"]), step["launch"])
    arguments = [buffers[name] if name in buffers else np.int32(values[name]) for name in step["args"]]
    extents = [values.get(axis["extent"]) or int(axis["extent"]) for axis in step["grid"]]
    blocks = [-(-extent // axis["tile"]) for extent, axis in zip(extents, step["grid"], strict=True)]
    threads = [count * side for count, side in zip(blocks, step["block"], strict=True)]
    kernel(queue, threads, step["block"], *arguments)
    cl.enqueue_copy(queue, out, buffers["C"]).wait()
    return out

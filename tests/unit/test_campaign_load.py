"""What a campaign file means: sizes, launch, initialisers, numbers, secrets, generated check sizes, first files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml

from evo.campaign import CampaignError, load_campaign
from evo.campaign_sizes import MAX_ELEMENTS, elements, generate_check_sizes
from evo.init_campaign import SIZE_PLACEHOLDER, init_campaign
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, ProblemSize, Role

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/campaign.yaml"))
    if "entries:" not in path.read_text()
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_load(path: Path) -> None:
    campaign = load_campaign(path)
    assert campaign.spec.entry in campaign.spec.source
    assert len(campaign.spec.check_sizes) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_first_file_of_an_example_needs_only_sizes(path: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text((path.parent / "kernel.cu").read_text())
    output = init_campaign(kernel, None, tmp_path / "campaign.yaml", force=False)
    with pytest.raises(CampaignError, match=SIZE_PLACEHOLDER):
        load_campaign(output)
    output.write_text(output.read_text().replace(SIZE_PLACEHOLDER, "64"))
    made, written = load_campaign(output), load_campaign(path)
    assert [(a.name, a.dtype, a.role) for a in made.spec.args] == [(a.name, a.dtype, a.role) for a in written.spec.args]
    assert len(made.spec.launch.domain) == len(written.spec.launch.domain)


def test_commented_fields_of_the_first_file_are_known(tmp_path: Path) -> None:
    """Each example in a comment is a field that the models accept by name."""
    (tmp_path / "kernel.cu").write_text(EXAMPLES[0].with_name("kernel.cu").read_text())
    text = init_campaign(tmp_path / "kernel.cu", None, tmp_path / "campaign.yaml", force=False).read_text()
    plain = yaml.safe_load(text)
    assert plain["check_sizes"] == "generate"
    for field in ("tunables", "restrictions", "transforms", "limits", "population", "device", "surrogate", "epsilon"):
        assert f"# {field}:" in text


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("y[i] = x[i];", "out"),
        ("y[i] += x[i];", "inout"),
        ("y[i] = y[i] + x[i];", "inout"),
        ("atomicAdd(&y[i], x[i]);", "inout"),
    ],
)
def test_first_file_tells_inout_from_out(tmp_path: Path, body: str, role: str) -> None:
    path = write(tmp_path, kernel="__global__ void f(const float* x, float* y, int n) "
                 "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { " + body + " } }\n")  # fmt: skip
    text = init_campaign(path.with_name("kernel.cu"), None, path, force=True).read_text()
    assert f"{{name: y, dtype: float32, shape: [n], role: {role}}}" in text


def test_first_file_is_never_written_over(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("__global__ void f(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] = 1; }\n")
    (tmp_path / "campaign.yaml").write_text("mine")
    with pytest.raises(CampaignError, match="--force"):
        init_campaign(kernel, None, tmp_path / "campaign.yaml", force=False)
    assert (tmp_path / "campaign.yaml").read_text() == "mine"
    init_campaign(kernel, None, tmp_path / "campaign.yaml", force=True)
    assert "name: f" in (tmp_path / "campaign.yaml").read_text()


def write(folder: Path, extra: str = "", kernel: str = "", arguments: str = "") -> Path:
    (folder / "kernel.cu").write_text(
        kernel
        or "__global__ void f(const float* x, float* y, int n) "
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }\n"
    )
    given = arguments or "  - {name: x, dtype: float, shape: n}\n  - {name: y, dtype: float, shape: [n], role: out}\n"
    path = folder / "campaign.yaml"
    path.write_text(
        "version: 1\nkernel: {source: kernel.cu}\narguments:\n" + given + "  - {name: n, dtype: int}\n"
        "launch: {domain: n, block: 64}\nsizes: [{n: 1000, weight: 2.5}]\n" + extra
    )
    return path


def test_short_forms(tmp_path: Path) -> None:
    spec = load_campaign(write(tmp_path)).spec
    assert spec.entry == "f"
    assert spec.args[0].shape == (SizeExpr("n"),) and spec.args[0].dtype == "float32"
    assert spec.args[2].value == SizeExpr("n")
    assert spec.launch.block == (64, 1, 1) and spec.launch.domain == (SizeExpr("n"),)
    assert spec.sizes == (ProblemSize((("n", 1000),), 2.5),)


def test_exponents_are_numbers(tmp_path: Path) -> None:
    spec = load_campaign(write(tmp_path, "tolerance: {rtol: 1e-4, atol: 2.5E-6}\n")).spec
    assert (spec.tolerance.rtol, spec.tolerance.atol) == (1e-4, 2.5e-6)


def test_pins_are_canonical_genes(tmp_path: Path) -> None:
    pin = "transforms: {pin: [{transform: block_shape, site: i, params: {threads: 32}}]}\n"
    steering = load_campaign(write(tmp_path, pin)).spec.steering
    assert steering.pin == ('{"params":{"threads":32},"site":{"label":"i","role":""},"transform":"block_shape"}',)


def test_passwords_do_not_reach_the_settings(tmp_path: Path) -> None:
    campaign = load_campaign(write(tmp_path, "knowledge: postgresql://me:secret@host/base\n"))
    assert campaign.knowledge_url == "postgresql+psycopg://me:secret@host/base"
    assert "secret" not in str(campaign.settings)


def test_nothing_is_executed_or_written(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "reference.py").write_text(f"open({str(marker)!r}, 'w')\ndef f(inputs, sizes):\n    return 1\n")
    load_campaign(write(tmp_path, "reference: reference.py:f\noutput: deep/out\n"))
    assert not marker.exists() and not (tmp_path / "deep").exists()


def _args(*names: str) -> tuple[ArgSpec, ...]:
    shape = tuple(SizeExpr(name) for name in names)
    scalars = tuple(ArgSpec(name, "int32", Role.IN, (), SizeExpr(name)) for name in names)
    return (ArgSpec("a", "float32", Role.OUT, shape), *scalars)


def test_generated_check_sizes_hold_primes_and_round_ones_and_tiny_ones() -> None:
    sizes = (ProblemSize((("M", 512), ("N", 512))),)
    made = generate_check_sizes(sizes, _args("M", "N"), Assumptions())
    assert made == generate_check_sizes(sizes, _args("M", "N"), Assumptions())
    values = [tuple(size.env.values()) for size in made]
    assert (509, 503) in values and (1, 1) in values
    assert any(m != n and m % 32 == 0 and n % 32 == 0 for m, n in values)
    assert sizes[0].env not in [size.env for size in made]


def test_generated_check_sizes_keep_the_promises_and_stay_small() -> None:
    sizes = (ProblemSize((("M", 1 << 14), ("N", 1 << 14))),)
    assumptions = Assumptions(divisible=(("N", 24),), ranges=(("M", 100, 1 << 20),))
    args = _args("M", "N")
    for size in generate_check_sizes(sizes, args, assumptions):
        assert size.env["N"] % 24 == 0 and size.env["M"] >= 100
        assert elements(args, size.env) <= 4 * MAX_ELEMENTS
        assert math.prod(size.env.values()) > 0


def test_generated_check_sizes_leave_out_empty_launches() -> None:
    made = generate_check_sizes((ProblemSize((("n", 64),)),), _args("n"), Assumptions(), (SizeExpr("n - 2"),))
    assert all(size.env["n"] > 2 for size in made)

"""Bad campaign files: one message each, with file, line, field and how to mend it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from evo import campaign_build
from evo.campaign import CampaignError, Overrides, load_campaign
from evo.campaign_notes import campaign_notes
from genome.source.frontend import SourceError

KERNEL = """\
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
  }
}
"""
GOOD = """\
version: 1
kernel: {source: kernel.cu, entry: matmul}
arguments:
  - {name: A, dtype: float32, shape: [M, K]}
  - {name: B, dtype: float32, shape: [K, N]}
  - {name: C, dtype: float32, shape: [M, N], role: out}
  - {name: M, dtype: int32, value: M}
  - {name: N, dtype: int32, value: N}
  - {name: K, dtype: int32, value: K}
launch:
  domain: {x: N, y: M}
  block: {x: 16, y: 16}
sizes:
  - {M: 64, N: 48, K: 32}
reference: reference.py:product
output: out
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "reference.py").write_text("def product(inputs, sizes):\n    return inputs['A'] @ inputs['B']\n")
    (tmp_path / "campaign.yaml").write_text(GOOD)
    return tmp_path


def test_entry_is_looked_up_under_the_campaigns_macros_and_includes(folder: Path) -> None:
    (folder / "shapes").mkdir()
    (folder / "shapes" / "names.h").write_text("#define NAME(x) x##_wide\n")
    source = KERNEL.replace("matmul", "NAME(matmul)")
    guarded = f'#ifdef WITH_PRODUCT\n#include "names.h"\n{source}\n#endif\n'
    (folder / "kernel.cu").write_text(guarded)
    text = GOOD.replace("entry: matmul", "defines: {WITH_PRODUCT: 1}, include: [shapes]")
    (folder / "campaign.yaml").write_text(text)
    assert load_campaign(folder / "campaign.yaml").spec.entry == "matmul_wide"


def test_aliases_are_refused_before_they_multiply(folder: Path) -> None:
    """Written out, these are 9**12 words: loading them would not end."""
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (folder / "campaign.yaml").write_text("\n".join(bomb) + "\n" + GOOD)
    with pytest.raises(CampaignError, match=r"campaign.yaml:2: .*alias.*\*a0.*write the value out"):
        load_campaign(folder / "campaign.yaml")
    (folder / "campaign.yaml").write_text(GOOD.replace("launch:", "launch: &launch"))
    assert load_campaign(folder / "campaign.yaml").spec.launch.block == (16, 16, 1)


@pytest.mark.parametrize("url, secret", [
    ("postgresql://me:pa/zz@host/base", "zz"), ("postgresql://me:p%2Fw@host/base?application_name=x", "p%2Fw"),
    ("postgresql://host/base?user=me&password=hidden", "hidden"),
    ("postgresql://me:hidden@host/b?sslpassword=other", "other"),
])  # fmt: skip
def test_no_password_goes_into_the_settings(folder: Path, url: str, secret: str) -> None:
    (folder / "campaign.yaml").write_text(f"{GOOD}knowledge: {url}\n")
    campaign = load_campaign(folder / "campaign.yaml")
    assert secret not in campaign.settings["knowledge"]
    assert "***" in unquote(campaign.settings["knowledge"])
    assert secret in str(campaign.knowledge_url)


@pytest.mark.parametrize("url", ["mysql://me:pa/ss@host/base", "postgres:me:hidden@host", "postgresql://me:pass@host"])
def test_no_password_is_in_the_error(folder: Path, url: str) -> None:
    (folder / "campaign.yaml").write_text(f"{GOOD}knowledge: {url}\n")
    with pytest.raises(CampaignError, match="expected auto, none or postgresql") as caught:
        load_campaign(folder / "campaign.yaml")
    assert not any(secret in str(caught.value) for secret in ("pa/ss", "hidden", ":pass"))


def test_the_good_file_is_good(folder: Path) -> None:
    campaign = load_campaign(folder / "campaign.yaml")
    assert campaign.spec.launch.block == (16, 16, 1)
    assert len(campaign.spec.check_sizes) >= 3


BAD = [
    ("version: 1\n", "", 1, "version", "add `version:`"),
    ("output: out", "ouput: out", 16, "ouput", "did you mean 'output'"),
    ("shape: [M, N], role", "shpe: [M, N], role", 6, "arguments[2].shpe", "did you mean 'shape'"),
    ("source: kernel.cu", "source: missing.cu", 2, "kernel.source", "no such file"),
    ("entry: matmul", "entry: matmull", 2, "kernel.entry", "did you mean 'matmul'"),
    ("name: A, dtype: float32", "name: A, dtype: flaot32", 4, "arguments[0].dtype", "did you mean 'float32'"),
    ("name: A, dtype: float32", "name: A, dtype: float64", 4, "arguments[0].dtype", "expected float32"),
    ("shape: [M, K]", "shape: [abs(M), K]", 4, "arguments[0].shape[0]", "calls are not allowed"),
    ("shape: [M, K]", "shape: [M, Q]", 4, "arguments[0].shape[1]", "'Q' is not a size"),
    ("shape: [M, K]", "shape: [M - 64, K]", 4, "arguments[0].shape[0]", "positive extent"),
    ("role: out", "role: output", 6, "arguments[2].role", "did you mean 'out'"),
    (", role: out", "", 3, "arguments", "no output"),
    ("name: B, dtype: float32, shape: [K, N]", "name: B, dtype: float32, shape: [K, N], role: out", 5,
     "arguments[1].role", "const in the kernel"),
    ("name: A,", "name: D,", 4, "arguments[0].name", "expected 'A'"),
    ("  - {name: K, dtype: int32, value: K}\n", "", 3, "arguments", "'K' is missing"),
    ("x: 16, y: 16", "x: 64, y: 64", 12, "launch.block", "4096 threads"),
    ("x: 16, y: 16", "x: sixteen", 12, "launch.block.x", "expected an integer"),
    ("x: 16, y: 16", "x: 16.5", 12, "launch.block[0]", "expected an integer"),
    ("x: 16, y: 16", "x: 0", 12, "launch.block.x", "at least 1, got 0"),
    ("x: 16, y: 16", "x: 2 * Q", 12, "launch.block.x", "'Q' is neither"),
    ("domain: {x: N, y: M}", "dommain: {x: N, y: M}", 11, "launch.dommain", "did you mean 'domain'"),
    ("domain: {x: N, y: M}", "domain: {x: N, y: M}\n  grid: {x: 1}", 10, "launch", "exactly one"),
    ("M: 64, N: 48", "M: -64, N: 48", 14, "sizes[0].M", "positive integer"),
    ("M: 64, N: 48", "M: 1000000, N: 500000", 14, "sizes[0]", "GiB"),
    ("reference.py:product", "reference.py:produkt", 15, "reference", "did you mean 'product'"),
    ("reference.py:product", "nothing.py:product", 15, "reference", "no such file"),
    ("reference.py:product", "product", 15, "reference", "file.py:function"),
    ("output: out", "output: kernel.cu/out", 16, "output", "is a file"),
    ("output: out", "knowledge: mysql://a:secret@b/c", 16, "knowledge", "postgresql+psycopg"),
    ("output: out", "output: out\noutput: other", 17, "output", "given twice"),
    ("output: out", "check_sizes: [{M: 3, N: 5, K: 7}]", 16, "check_sizes", "at least three"),
    ("output: out", "assume: {divisible: {K: 24}}", 16, "assume.divisible.K", "24 does not divide"),
    ("output: out", "assume: {ranges: {M: [1, 32]}}", 16, "assume.ranges.M", "outside [1, 32]"),
    ("output: out", "assume: {ranges: {M: [64, 1]}}", 16, "assume.ranges.M", "expected [low, high], got [64, 1]"),
    ("output: out", "transforms: {forbid: [unrol]}", 16, "transforms.forbid[0]", "did you mean 'unroll'"),
    ("output: out", "transforms: {forbid: ['@90-99']}", 16, "transforms.forbid[0]", "stands on lines"),
    ("output: out", "transforms: {focus: ['unroll@9-2']}", 16, "transforms.focus[0]", "first line before the last"),
    ("output: out", "tunables: {TILE: [16]}", 16, "tunables.TILE", "does not use 'TILE'"),
    ("output: out", "budget: {evaluations: 0}", 16, "budget.evaluations", "at least 1"),
    ("output: out", "epsilon: 1.5", 16, "epsilon", "at most 1"),
    ("output: out", "device: gpu", 16, "device", "evo-tune devices"),
    ("output: out", "seed: 1.5", 16, "seed", "expected an integer"),
    ("output: out", "restrictions: [TILE % 4 == 0]", 16, "restrictions[0]", "'TILE' is not a tunable"),
    ("output: out", "tunables: {K: [16]}", 16, "tunables.K", "'K' is a parameter of the kernel"),
    ("dtype: int32, value: K", "dtype: int32, value: 1.5", 9, "arguments[5].value", "expected an integer"),
    ("dtype: int32, value: K", "dtype: int32, value: K*K*K*K*K*K*K*K", 9, "arguments[5].value", "-2147483648 to 2147"),
    ("version: 1", "version: 2", 1, "version", "write `version: 1`"),
    ("output: out", "assume: {alignment: 3}", 16, "assume.alignment", "expected one of 1, 2, 4, 8, 16, 32, 64, 128, "
     "256, got 3"),
    ("name: A, dtype: float32", "name: A, dtype: tf32", 4, "arguments[0].dtype", "'tf32' is not supported yet"),
    ("sizes:\n  - {M: 64, N: 48, K: 32}", "sizes: []", 13, "sizes", "expected at least 1 entry, got none"),
    ("M: 64, N: 48", "M: 2000000000000, N: 48", 14, "sizes[0].M", "below 2**40, got 2000000000000"),
    ("M: 64, N: 48", f"M: {10**30}, N: 48", 14, "sizes[0].M", "below 2**40, got a larger one"),
    ("output: out", f"seed: {10**40}", 16, "seed", "expected"),
    ("output: out", f"epsilon: {10**400}", 16, "epsilon", "usual size"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "field", "words"), BAD, ids=[f"{b[3]}-{b[4][:12]}" for b in BAD])
def test_bad_fields(folder: Path, old: str, new: str, line: int, field: str, words: str) -> None:
    assert GOOD.count(old) == 1
    path = folder / "campaign.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: {field}: "), message
    assert words in message
    assert "secret" not in message and "\n" not in message
    assert not (folder / "out").exists()


def test_a_number_of_thousands_of_digits_names_its_line(folder: Path) -> None:
    path = folder / "campaign.yaml"
    path.write_text(GOOD + f"seed: {'9' * 5000}\n")
    with pytest.raises(CampaignError, match=r"campaign\.yaml:17: .*5000 characters") as caught:
        load_campaign(path)
    assert "\n" not in str(caught.value)


def test_sizes_over_the_machines_memory_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B: 32 MiB each; twice, with C in float64 twice (128 MiB), and both as float64 for the reference."""
    path = folder / "campaign.yaml"
    path.write_text(GOOD.replace("M: 64, N: 48, K: 32", "M: 2048, N: 4096, K: 2048"))
    needed = 2 * (16 + 32 + 64) + 2 * (16 + 32)
    monkeypatch.setattr(campaign_build, "machine_memory", lambda: needed << 20)
    load_campaign(path)
    monkeypatch.setattr(campaign_build, "machine_memory", lambda: (needed << 20) - 1)
    with pytest.raises(
        CampaignError, match=r"campaign\.yaml:14: sizes\[0\]: needs 0\.078 GiB of arrays .* machine has"
    ):
        load_campaign(path)
    monkeypatch.setattr(campaign_build, "machine_memory", lambda: 0)
    load_campaign(path)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("tolerance: {rtol: 0.5}", "off by 50%"),
        ("tolerance: {norm: 2}", "off by 200%"),
        ("tolerance: {atol: 10}", "tolerance.atol is 10"),
        ("", ""),
    ],
)
def test_loose_tolerances_are_remarked(folder: Path, extra: str, words: str) -> None:
    path = folder / "campaign.yaml"
    path.write_text(GOOD + extra + "\n")
    notes = load_campaign(path).notes
    assert len(notes) == bool(words) and all(words in note for note in notes)
    spec = load_campaign(path).spec
    whole = tuple(replace(arg, dtype="int32") for arg in spec.args)
    assert campaign_notes(replace(spec, args=whole)) == (), "integers are exact"


def test_inputs_of_zeros_are_remarked(folder: Path) -> None:
    path = folder / "campaign.yaml"
    zeros = GOOD.replace("shape: [M, K]}", "shape: [M, K], init: zeros}")
    path.write_text(zeros)
    assert load_campaign(path).notes == ()
    path.write_text(zeros.replace("shape: [K, N]}", "shape: [K, N], init: {kind: constant, value: 0}}"))
    (note,) = load_campaign(path).notes
    assert "every input (A, B) is filled with zeros" in note


def test_several_problems_are_all_told(folder: Path) -> None:
    path = folder / "campaign.yaml"
    path.write_text(GOOD.replace("shape: [M, K]", "shpe: [M, K]") + "seed: x\nepsilon: 7\n")
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    assert [line.split(": ")[:2] for line in str(caught.value).splitlines()] == [
        [f"{path}:4", "arguments[0].shpe"], [f"{path}:17", "seed"], [f"{path}:18", "epsilon"]
    ]  # fmt: skip


def test_of_many_problems_five_are_told(folder: Path) -> None:
    path = folder / "campaign.yaml"
    path.write_text(GOOD + "".join(f"nothing_{number}: 1\n" for number in range(9)))
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    assert len(str(caught.value).splitlines()) == 6 and str(caught.value).endswith("and 4 more")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (Overrides(device="foo"), "--device: expected auto"),
        (Overrides(knowledge="foo"), "--knowledge: expected auto"),
        (Overrides(minutes=float("nan")), "--minutes: expected a finite number above 0, got nan"),
        (Overrides(minutes=float("inf")), "--minutes: expected a finite number above 0, got inf"),
    ],
)
def test_an_option_is_blamed_on_the_option(folder: Path, overrides: Overrides, words: str) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(folder / "campaign.yaml", overrides)
    assert str(caught.value).startswith(words) and "campaign.yaml" not in str(caught.value)


def test_an_output_option_in_the_way_is_blamed_on_the_option(folder: Path) -> None:
    with pytest.raises(CampaignError, match=r"^--output: .* is a file"):
        load_campaign(folder / "campaign.yaml", Overrides(output=folder / "kernel.cu"))


def test_not_yaml_names_the_line(folder: Path) -> None:
    path = folder / "campaign.yaml"
    path.write_text(GOOD.replace("sizes:", "sizes: ]"))
    with pytest.raises(CampaignError, match=r"campaign\.yaml:13: not valid YAML"):
        load_campaign(path)


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("- 1\n", "got a list"), ("kernel\n", "got 'kernel'")])
def test_other_documents(folder: Path, text: str, words: str) -> None:
    path = folder / "campaign.yaml"
    path.write_text(text)
    with pytest.raises(CampaignError, match=words):
        load_campaign(path)


def test_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="evo-tune init"):
        load_campaign(tmp_path / "campaign.yaml")


def test_a_kernel_that_is_cut_off_names_its_line(folder: Path) -> None:
    (folder / "kernel.cu").write_text(KERNEL.replace("sum;\n  }", "sum;\n"))
    with pytest.raises(SourceError, match=r"kernel\.cu:\d+: "):
        load_campaign(folder / "campaign.yaml")


def test_a_body_out_of_reach_is_tuned_as_text_with_a_remark(folder: Path) -> None:
    (folder / "kernel.cu").write_text(KERNEL.replace("sum;\n  }", "sum;\n  int q = ;\n  }"))
    campaign = load_campaign(folder / "campaign.yaml")
    remarks = [note for note in campaign.notes if "cannot parse" in note]
    assert len(remarks) == 1 and re.search(r"kernel\.cu:\d+: .*macros, block shape and options are tuned", remarks[0])


def test_database_url_from_the_environment_is_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_TUNE_DATABASE_URL", "sqlite:///x")
    with pytest.raises(CampaignError, match=r"^\$EVO_TUNE_DATABASE_URL: expected auto, none or postgresql\+psycopg"):
        load_campaign(folder / "campaign.yaml")


def test_overrides_win_over_the_file(folder: Path) -> None:
    overrides = Overrides(device="opencl:1", evaluations=7, minutes=0.5, seed=9, output=folder / "x", knowledge="none")
    campaign = load_campaign(folder / "campaign.yaml", overrides)
    assert (campaign.device, campaign.budget.evaluations, campaign.budget.minutes) == ("opencl:1", 7, 0.5)
    assert (campaign.seed, campaign.output, campaign.use_knowledge) == (9, folder / "x", False)

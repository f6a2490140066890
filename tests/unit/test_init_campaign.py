"""The first campaign file: shapes and launch read off subscripts and guards, and arguments of templates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.main import app
from evo.campaign import EntriesCampaign, load_campaign, load_plan
from evo.init_campaign import SIZE_PLACEHOLDER, init_campaign, template_arguments
from evo.kernel_file import record_of_file

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/campaign.yaml"))
    if "entries:" not in path.read_text()
]

TILES = """\
#define TILE 16
__global__ void product(const double* A, const double* B, double* C, int rows, int cols, int inner) {
  __shared__ double As[TILE][TILE], Bs[TILE][TILE];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  double s = 0;
  for (int t = 0; t < inner; t += TILE) {
    As[threadIdx.y][threadIdx.x] = (r < rows && t + threadIdx.x < inner) ? A[r * inner + t + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] = (c < cols && t + threadIdx.y < inner) ? B[(t + threadIdx.y) * cols + c] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) s += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (r < rows && c < cols) C[r * cols + c] = s;
}
"""
HEAT = """\
__global__ void heat(const float* a, float* b, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int i = (z * ny + y) * nx + x;
  b[i] = a[i] + a[i - 1] + a[i + 1] + a[i - nx] + a[i + nx] + a[i - nx * ny] + a[i + nx * ny];
}
"""
ROWS = """\
__global__ void rows_max(const float* a, float* m, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float best = a[row * cols];
    for (int j = 0; j < cols; j++) best = fmaxf(best, a[row * cols + j]);
    m[row] = best;
  }
}
"""
FLAT = """\
__global__ void f(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { BODY }
}
"""
PARTIAL = """\
__global__ void partial(const float* x, float* out, int n) {
  __shared__ float s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; __syncthreads(); }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
"""
BLOCK_A_ROW = """\
__global__ void rows_sum(const float* a, float* out, int rows, int cols) {
  __shared__ float s[256];
  int row = blockIdx.x;
  float t = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) t += a[row * cols + j];
  s[threadIdx.x] = t;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; __syncthreads(); }
  if (threadIdx.x == 0) out[row] = s[0];
}
"""
TEMPLATE = """\
template <typename T, int R> __global__ void blur(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - R) { T s = 0; for (int d = 0; d < R; d++) s += x[i + d]; y[i] = s; }
}
"""


def first_file(folder: Path, source: str, *template_args: str) -> tuple[dict[str, Any], str]:
    (folder / "kernel.cu").write_text(source)
    path = init_campaign(folder / "kernel.cu", None, folder / "campaign.yaml", True, template_args)
    text = path.read_text()
    return yaml.safe_load(text), text


def shapes(data: dict[str, Any]) -> dict[str, list[Any]]:
    return {item["name"]: item["shape"] for item in data["arguments"] if "shape" in item}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_shapes_are_those_that_a_person_wrote(path: Path, tmp_path: Path) -> None:
    made, _ = first_file(tmp_path, path.with_name("kernel.cu").read_text())
    written = shapes(yaml.safe_load(path.read_text()))
    if path.parent.name == "histogram":  # its bins are found by the data
        written["bins"] = ["n"]
    assert {n: [str(e) for e in s] for n, s in shapes(made).items()} == {
        n: [str(e) for e in (s if isinstance(s, list) else [s])] for n, s in written.items()
    }


def test_two_dimensions_are_seen_where_axes_are_not_understood(tmp_path: Path) -> None:
    data, text = first_file(tmp_path, TILES)
    assert data["launch"] == {"domain": {"x": "cols", "y": "rows"}, "block": {"x": 16, "y": 16}}
    assert shapes(data) == {"A": ["rows", "inner"], "B": ["inner", "cols"], "C": ["rows", "cols"]}
    assert data["assume"]["alignment"] == 8
    assert "A GUESS" not in text


def test_a_guard_of_a_border_does_not_shrink_the_array(tmp_path: Path) -> None:
    data, _ = first_file(tmp_path, HEAT)
    assert shapes(data) == {"a": ["nz", "ny", "nx"], "b": ["nz", "ny", "nx"]}
    assert data["assume"]["alignment"] == 4


def test_inner_loops_give_the_inner_extent(tmp_path: Path) -> None:
    assert shapes(first_file(tmp_path, ROWS)[0]) == {"a": ["rows", "cols"], "m": ["rows"]}


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("out[n - 1 - i] = x[i];", ["n"]),
        ("out[2 * i + 1] = x[i];", ["n", 2]),
        ("for (int k = 0; k < 5; k++) out[3 * i + k] = x[i];", ["3*n + 2"]),
        ("for (int k = 0; k < 3; k++) out[3 * i + k] = x[i];", ["n", 3]),
        ("for (int k = 0; k < 3; k++) out[i + k] = x[i];", ["n + 2"]),
        ("atomicAdd(out, x[i]);", [1]),
        ("atomicAdd(&out[0], x[i]);", [1]),
    ],
)
def test_shapes_of_one_dimension(tmp_path: Path, body: str, shape: list[Any]) -> None:
    data, text = first_file(tmp_path, FLAT.replace("BODY", body))
    assert shapes(data)["out"] == shape
    assert ("updated by atomics" in text) == ("atomic" in body)
    role = {item["name"]: item.get("role") for item in data["arguments"]}["out"]
    assert role == ("inout" if "atomic" in body else "out")


@pytest.mark.parametrize(
    "body",
    [
        "out[(int)x[i]] = 1;",
        "for (int k = 0; k < 4; k++) out[i * k] = 1;",
        "out[i * i] = 1;",
        "out[i % 7] = 1;",
        "out[threadIdx.x] = 1;",
    ],
)
def test_subscripts_that_do_not_tell_are_a_guess_with_a_remark(tmp_path: Path, body: str) -> None:
    _, text = first_file(tmp_path, FLAT.replace("BODY", body))
    assert re.search(r"name: out, dtype: float32, shape: \[n\], role: \w+} # a guess from the launch", text)


def test_an_element_a_block_has_the_extent_of_the_grid(tmp_path: Path) -> None:
    data, text = first_file(tmp_path, PARTIAL)
    assert shapes(data)["out"] == ["(n + 127) // 128"] and data["launch"]["block"] == {"x": 128}
    assert "an element a block of 128" in text


def test_a_block_with_a_number_of_its_own_gives_a_grid(tmp_path: Path) -> None:
    """A block a row: a domain would launch too few blocks, and leave most rows undone."""
    data, text = first_file(tmp_path, BLOCK_A_ROW)
    assert data["launch"] == {"grid": {"x": "rows"}, "block": {"x": 256}} and "A GUESS" in text
    (tmp_path / "campaign.yaml").write_text(text.replace(SIZE_PLACEHOLDER, "64"))
    assert [str(extent) for extent in load_campaign(tmp_path / "campaign.yaml").spec.launch.grid] == ["rows"]


@pytest.mark.parametrize(("row", "block"), [("blockIdx.y", [256, 1]), ("blockIdx.y + threadIdx.y", [16, 16])])
def test_a_dimension_takes_threads_only_where_the_kernel_asks_for_theirs(
    tmp_path: Path, row: str, block: list[int]
) -> None:
    body = f"int r = {row}; int c = threadIdx.x + blockIdx.x * blockDim.x; if (c < cols) y[r * cols + c] = 0.0f;"
    data, _ = first_file(tmp_path, f"__global__ void k(float* y, int rows, int cols) {{ {body} }}")
    assert list(data["launch"]["block"].values()) == block and data["launch"]["grid"]["y"] == "rows"


def test_template_arguments_are_guessed_and_remarked(tmp_path: Path) -> None:
    data, text = first_file(tmp_path, TEMPLATE)
    assert data["kernel"]["template_args"] == ["float", 4] and "# T, R: a guess" in text
    (tmp_path / "campaign.yaml").write_text(text.replace(SIZE_PLACEHOLDER, "64"))
    assert load_campaign(tmp_path / "campaign.yaml").spec.template_args == ("float", "4")


def test_template_arguments_are_taken_from_the_option(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(TEMPLATE)
    outcome = CliRunner().invoke(app, ["init", str(tmp_path / "kernel.cu"), "--template-args", "double,3"])
    assert outcome.exit_code == 0, outcome.output
    data = yaml.safe_load((tmp_path / "campaign.yaml").read_text())
    assert (
        data["kernel"]["template_args"] == ["double", 3] and "a guess" not in (tmp_path / "campaign.yaml").read_text()
    )
    assert {item["name"]: item["dtype"] for item in data["arguments"]} == {"x": "float64", "y": "float64", "n": "int32"}
    assert shapes(data)["x"] == ["n"]


def test_a_template_is_known_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(TEMPLATE)
    guessed, given = (
        record_of_file(tmp_path / "kernel.cu", None),
        record_of_file(tmp_path / "kernel.cu", None, ["int", "4"]),
    )
    assert guessed.name == given.name == "blur" and guessed.digest != given.digest


def test_commas_in_angle_brackets_do_not_part_arguments() -> None:
    assert template_arguments("float,3") == ("float", "3")
    assert template_arguments("pair<int, float>, 3") == ("pair<int, float>", "3")
    assert template_arguments(None) == ()


def test_further_kernels_of_a_file_are_offered_as_entries(tmp_path: Path) -> None:
    """What is offered loads as it stands, once it is no comment any more; a file of one kernel gets no offer."""
    form = (
        "__global__ void {}(float* x, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }}"
    )
    kernel, path = tmp_path / "k.cu", tmp_path / "campaign.yaml"
    kernel.write_text("\n".join(form.format(name) for name in ("first", "second", "third")))
    text = init_campaign(kernel, "second", path, force=False).read_text().replace(SIZE_PLACEHOLDER, "1000")
    offered = re.search(r"# entries:\n(#   .*\n)+", text)
    assert offered is not None and "(also there: first, third)" in text
    path.write_text(text.replace(offered[0], re.sub("(?m)^# ", "", offered[0])))
    plan = load_plan(path)
    assert isinstance(plan, EntriesCampaign)
    assert [entry.name for entry in plan.entries] == ["second", "first"]
    kernel.write_text(form.format("first"))
    assert "entries" not in init_campaign(kernel, None, path, force=True).read_text()


def test_a_block_that_no_device_has_is_not_guessed(tmp_path: Path) -> None:
    body = "int x = blockIdx.x * (8 * 16) + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n"
    body += "for (int i = 0; i < 8; ++i) a[y * cols + x + i * 16] = 1.0f;"
    data, _ = first_file(tmp_path, f"__global__ void k(float* a, int rows, int cols) {{ {body} }}")
    assert data["launch"]["block"] == {"x": 16, "y": 16}

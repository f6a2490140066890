"""``evo-tune inspect``: text, page and JSON of one kernel, one message for bad input, and nothing heavy loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import app

ROOT = Path(__file__).parents[2]
MATMUL = ROOT / "examples" / "matmul"
TWICE = """\
// Twice as much.
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = SCALE * x[i];
}
"""


def inspect(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "kernel.cu").write_text(TWICE)
    return tmp_path / "kernel.cu"


@pytest.mark.parametrize("path", [MATMUL / "campaign.yaml", MATMUL / "kernel.cu"], ids=["campaign", "kernel"])
def test_text_names_every_part(path: Path) -> None:
    outcome = inspect(path)
    assert outcome.exit_code == 0, outcome.output
    for part in ("What to know first", "Arguments", "Which thread does what", "Loops", "What applies"):
        assert f"\n{part}\n" in outcome.stdout
    assert "a contraction (line 8: C from A and B)" in outcome.stdout
    assert ("What was guessed" in outcome.stdout) == (path.suffix == ".cu")
    assert all(line == line.rstrip() and len(line) <= 100 for line in outcome.stdout.splitlines())


def test_json_is_alone_on_stdout_and_says_what_the_text_says() -> None:
    outcome = inspect(MATMUL / "campaign.yaml", "--json")
    data = json.loads(outcome.stdout)
    assert outcome.exit_code == 0 and outcome.stderr == ""
    assert data["format"] == 1 and data["kernel"]["campaign"] == str(MATMUL / "campaign.yaml")
    text = " ".join(inspect(MATMUL / "campaign.yaml").stdout.split())
    assert all(" ".join(finding["text"].split()) in text for finding in data["findings"])


class Page(HTMLParser):
    """Tags that are open at the end, ids, links inside the page, and attributes that would load something."""

    VOID = frozenset({"meta", "br", "img", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href":
                self.links.add(value or "")
            elif name in ("src", "srcset") or tag in ("script", "link"):
                self.loads.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_links_to_its_own_lines(tmp_path: Path) -> None:
    outcome = inspect(MATMUL / "kernel.cu", "--html", tmp_path / "page.html")
    assert outcome.exit_code == 0 and f"wrote {tmp_path / 'page.html'}" in outcome.stdout
    text = (tmp_path / "page.html").read_text()
    page = Page()
    page.feed(text)
    assert not page.open and not page.loads and "url(" not in text and "@import" not in text
    assert page.ids == [f"L{number}" for number in range(2, 13)]
    assert page.links and page.links <= {f"#{name}" for name in page.ids}
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    for line in (MATMUL / "kernel.cu").read_text().splitlines()[1:]:
        assert escape(line) in text


def test_what_a_kernel_holds_cannot_become_markup(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(TWICE.replace("SCALE", '2.0f /* "</code><script>alert(1)</script> */'))
    assert inspect(tmp_path / "kernel.cu", "--html", tmp_path / "page.html").exit_code == 0
    assert "<script" not in (tmp_path / "page.html").read_text()


def test_macros_and_folders_are_those_of_the_compiler(kernel: Path) -> None:
    (kernel.parent / "include").mkdir()
    (kernel.parent / "include" / "scale.h").write_text("#define SCALE 2.0f\n")
    assert inspect(kernel, "-D", "SCALE=2.0f", "--json").exit_code == 0
    kernel.write_text('#include "scale.h"\n' + TWICE)
    found = json.loads(inspect(kernel, "-I", kernel.parent / "include", "--json").stdout)
    assert found["work"]["flops"] == "1" and found["idioms"][0]["name"] == "map"


def test_template_arguments_are_taken_or_guessed(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text("template <typename T, int N>\n" + TWICE.replace("float*", "T*").replace("SCALE", "N"))
    data = json.loads(inspect(path, "--template-args", "double,3", "--json").stdout)
    assert data["arguments"][0]["type"] == "double" and not any(
        "template arguments" in said for said in data["guesses"]
    )
    data = json.loads(inspect(path, "--json").stdout)
    assert data["arguments"][0]["type"] == "float" and any("T, N" in said for said in data["guesses"])


def test_one_of_several_kernels_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(TWICE.replace("SCALE", "2.0f") + TWICE.replace("twice", "thrice").replace("SCALE", "3.0f"))
    outcome = inspect(path)
    assert outcome.exit_code == 2 and "twice, thrice" in outcome.output
    assert json.loads(inspect(path, "--entry", "thrice", "--json").stdout)["kernel"]["line"] == 7


BROKEN = {
    "unbalanced": ("__global__ void f(float* x, int n) {\n  if (n > 0 { x[0] = 1.0f;\n}\n", ":2:"),
    "no kernel": ("int main() { return 0; }\n", "no __global__ function"),
    "bytes": ("\0\1\2 hello", "byte 0x00 is not text"),
    "empty": ("", "no __global__ function"),
}


@pytest.mark.parametrize("what", sorted(BROKEN))
def test_a_file_that_cannot_be_read_is_one_message(what: str, tmp_path: Path) -> None:
    text, said = BROKEN[what]
    (tmp_path / "kernel.cu").write_text(text)
    outcome = inspect(tmp_path / "kernel.cu")
    assert outcome.exit_code == 2 and said in outcome.output
    assert outcome.output.startswith("evo-tune: ") and outcome.output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.cu"], "no such file"),
        (["nowhere.yaml"], "nowhere.yaml"),
        (["kernel.cu", "--entry", "twixe"], "did you mean 'twice'?"),
        (["kernel.cu", "-D", "2=3"], "expected NAME=VALUE"),
        (["kernel.cu", "-I", "no-such-folder"], "no such folder"),
        (["kernel.cu", "--target", "metal"], "--target"),
        ([str(MATMUL / "campaign.yaml"), "-D", "A=1"], "a campaign says so itself"),
        ([str(MATMUL / "campaign.yaml"), "--entry", "other"], "other"),
        (["kernel.cu", "--html", "."], "name a file in it"),
        ([], "inspect"),
    ],
)
def test_wrong_use_is_one_message(
    arguments: list[str], said: str, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kernel.parent)
    outcome = inspect(*arguments)
    assert outcome.exit_code == 2 and said in outcome.output and "Traceback" not in outcome.output
    assert outcome.output.count("\n") == 1


@pytest.mark.parametrize("path", [MATMUL / "kernel.cu", MATMUL / "campaign.yaml"], ids=["kernel", "campaign"])
def test_nothing_heavy_is_loaded(path: Path, tmp_path: Path) -> None:
    heavy = ["sklearn", "sqlalchemy", "psycopg", "matplotlib", "pyopencl", "cupy", "deap", "scipy", "sympy", "ray"]
    heavy += [] if path.suffix == ".yaml" else ["pydantic", "yaml", "numpy"]
    code = (
        "import sys; from click.testing import CliRunner; from cli.main import app; "
        f"result = CliRunner().invoke(app, ['inspect', {str(path)!r}, '--html', {str(tmp_path / 'page.html')!r}]); "
        f"assert result.exit_code == 0, result.output; print([name for name in {heavy} if name in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert outcome.stdout.strip() == "[]"

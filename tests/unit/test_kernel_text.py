"""Files as people leave them: other encodings, binaries, and text that stops in the middle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import app
from evo.init_campaign import SIZE_PLACEHOLDER
from evo.kernel_guess import file_kernel
from evo.kernel_text import kernel_text
from genome.source.errors import SourceError

KERNEL = """\
__global__ void k(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 1;
}
"""


def written(folder: Path, data: bytes) -> Path:
    path = folder / "k.cu"
    path.write_bytes(data)
    return path


def test_a_file_in_another_encoding_is_read_and_remarked(tmp_path: Path) -> None:
    path = written(tmp_path, b"\n// caf\xe9\n" + KERNEL.encode())
    found = file_kernel(path, None)
    assert found.guesses[0] == f"Line 2 of {path} is not UTF-8: the file is read as Latin-1."
    assert found.spec.source == "\n// caf\u00e9\n" + KERNEL
    assert CliRunner().invoke(app, ["init", str(path)]).exit_code == 0
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(campaign.read_text().replace(SIZE_PLACEHOLDER, "64"))
    seen = CliRunner().invoke(app, ["inspect", str(campaign)])
    assert seen.exit_code == 0 and seen.output.startswith("k ")


@pytest.mark.parametrize("text", [KERNEL, "\ufeff" + KERNEL, KERNEL.replace("\n", "\r\n"), KERNEL + "// \u00e9\f\n"])
def test_text_is_read_without_remark(tmp_path: Path, text: str) -> None:
    read, remark = kernel_text(written(tmp_path, text.encode()))
    assert read == text.replace("\r\n", "\n") and not remark


def test_signs_of_a_comment_in_strings_and_comments_open_none(tmp_path: Path) -> None:
    text = f'// a /* b\n/* // */ const char* s = "\\"/*"; char c = \'"\';\n{KERNEL}'
    assert kernel_text(written(tmp_path, text.encode()))[0] == text


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"\n\x7fELF\x02\x01\x00" + KERNEL.encode(), 2, "byte 0x7f is not text"),
        (KERNEL.encode() + b"\x00" * 64, 5, "byte 0x00 is not text"),
        (KERNEL.encode() + b"\n/* more\n", 6, "'/*' has no partner"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path, data: bytes, line: int, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        kernel_text(written(tmp_path, data))
    assert raised.value.line == line and message in raised.value.message


@pytest.mark.parametrize("length", range(1, len(KERNEL) - 1, 7))
@pytest.mark.parametrize("before", ["", "#if 1\n", "namespace n {\n"])
def test_a_file_that_is_cut_off_is_one_message(tmp_path: Path, before: str, length: int) -> None:
    path = written(tmp_path, (before + KERNEL[:length]).encode())
    outcome = CliRunner().invoke(app, ["inspect", str(path)])
    assert outcome.exit_code == 2 and isinstance(outcome.exception, SystemExit)
    assert len(outcome.stderr.splitlines()) == 1 and outcome.stderr.startswith(f"evo-tune: {path}:")
    if "k(" in KERNEL[:length]:
        assert re.match(rf"evo-tune: {path}:\d+: ", outcome.stderr), outcome.stderr


@pytest.mark.parametrize("text", ["#ifdef ON\n" + KERNEL + "#endif\n", "\n__global__ void k(float* a, int n);\n"])
def test_a_kernel_that_is_left_out_is_pointed_at(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text.encode())
    outcome = CliRunner().invoke(app, ["inspect", str(path)])
    assert outcome.exit_code == 2 and outcome.stderr.startswith(f"evo-tune: {path}:2: ") and "-D NAME" in outcome.stderr
    if "ON" in text:
        assert CliRunner().invoke(app, ["inspect", str(path), "-D", "ON"]).exit_code == 0


def test_a_file_without_a_kernel_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, b"// no __global__ here\nint main() { return 0; }\n")
    assert CliRunner().invoke(app, ["inspect", str(path)]).stderr == f"evo-tune: {path}: holds no __global__ function\n"

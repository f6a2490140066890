"""PTX of a kernel, from whichever of NVIDIA's compilers is installed; neither needs a device."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing

_OPTIONS = ("--std=c++17", "-DNDEBUG")  # an assertion compiles its line into the code
_VIRTUAL = "compute_80"
_SECONDS = 60.0


def ptx_compiler() -> tuple[str, Callable[[str], tuple[str, ...]]] | None:
    """(its version, a function from CUDA C++ to PTX), or None where there is no compiler.

    The function gives the lines that a compiler acts upon, none if the source does not compile.
    """
    nvrtc = _nvrtc()
    if nvrtc is not None:
        return f"NVRTC {nvrtc.version}", lambda source: _lines(
            nvrtc.ptx(source, "kernel.cu", (f"-arch={_VIRTUAL}", *_OPTIONS)).cubin.decode(errors="replace")
        )
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return f"nvcc {nvcc}", lambda source: _lines(_by_nvcc(nvcc, source))
    return None


@cache
def _nvrtc() -> Nvrtc | None:
    try:
        return Nvrtc()
    except NvrtcMissing:
        return None


def _by_nvcc(nvcc: str, source: str) -> str:
    with TemporaryDirectory() as folder:
        path, product = Path(folder, "kernel.cu"), Path(folder, "kernel.ptx")
        path.write_text(source, encoding="utf-8")
        command = [nvcc, "-ptx", f"-arch={_VIRTUAL}", *_OPTIONS, str(path), "-o", str(product)]
        try:
            subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
            return product.read_text(encoding="utf-8", errors="replace")
        except (OSError, subprocess.SubprocessError):
            return ""


def _lines(ptx: str) -> tuple[str, ...]:
    stripped = (re.sub(r"//.*", "", line).strip("\0 \t") for line in ptx.splitlines())
    return tuple(line for line in stripped if line)

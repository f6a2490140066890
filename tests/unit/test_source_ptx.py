"""The untransformed round trip: what the compiler makes of the file, and of the normal form printed back."""

from __future__ import annotations

import ctypes
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from genome.ir.print_source import print_kernel
from genome.source.frontend import entries, parse_kernel
from genome.source.opening import open_kernel
from genome.source.round_trip import round_trip
from genome.variant import Target

ROOT = Path(__file__).parents[2]

HEADERS = {"cuda_runtime.h": "", "float.h": "#define FLT_MAX 3.402823466e+38f\n"}

AXES = "launch indices are read in one order for all axes, and guards compare in the order of the axes"
BRANCH = "the statement behind a loop that an early return leaves is laid out in another place"
OTHER_ORDER = {
    "matmul/kernel:matmul": AXES, "kernels/matmul_ta:gemm_tn": AXES, "kernels/rows:softmax_in_place": AXES,
    "kernels/triangle:prefix": AXES, "source/transpose:transpose": AXES,
    "source/opaque:steps": BRANCH, "kernels/long_sums:farthest": AXES, "kernels/totals:dot": AXES,
}  # fmt: skip
"""Kernels with the same instructions in another order, and why."""

OTHER_WORK = {
    "kernels/untidy:tiled": "shared arrays are aligned to 16 bytes: the compiler loads several elements at once",
    "kernels/uncounted:sparse_row": "a return out of the loop leaves it with a flag, which is asked for behind it",
    "conv3x3/kernel:conv3x3": "`if (outside) continue;` becomes `if (inside) {...}`: or of opposite comparisons",
    "kernels/row_norms:norms": "a loop over the grid counts its turns: the compiler forms addresses of each anew",
    "source/softmax:softmax": "pointers to a row go into their uses: addresses are formed at the access",
    "source/stencil:jacobi": "two guards become one: a bound fewer is computed, a branch fewer taken",
}
"""Kernels whose normal form computes the same in other instructions, and how; they are executed elsewhere."""

TURNS = "loops count their turns: the compiler knows when they end, and unrolls them"
UNROLLED = dict.fromkeys(("source/reduce:reduce", "kernels/strides:scaled", "kernels/strides:smooth",
                          "kernels/strides:counted"), TURNS) | {
    "source/switched:classes": "a switch becomes a chain of comparisons: the compiler selects instead of branching",
}  # fmt: skip
"""Kernels whose normal form has the same operations another number of times, and why; they are executed elsewhere."""


def kernels() -> list[tuple[Path, str, tuple[str, ...]]]:
    """(file, entry, template arguments) of every kernel that comes with the project."""
    found = []
    for campaign in sorted((ROOT / "examples").glob("*/campaign.yaml")):
        plan = yaml.safe_load(campaign.read_text())
        for part in plan.get("entries", [{}]):
            kernel = {**plan["kernel"], **part.get("kernel", {})}
            template = tuple(kernel.get("template_args", ()))
            found.append((campaign.parent / kernel["source"], str(kernel["entry"]), template))
    for path in sorted((ROOT / "tests" / "data" / "kernels").glob("*.cu")):
        found += [(path, entry, ()) for entry in entries(path.read_text(), str(path))]
    for path in sorted((ROOT / "tests" / "golden" / "source").glob("*.cu")):
        if not path.name.endswith(".out.cu"):
            entry = re.search(r"// entry: (\w+)", path.read_text())
            template = re.search(r"// template: (.*)", path.read_text())
            assert entry is not None
            found.append((path, entry[1], tuple(template[1].split(",")) if template else ()))
    return found


KERNELS = {f"{path.parent.name}/{path.stem}:{entry}": (path, entry, template) for path, entry, template in kernels()}


@cache
def library() -> ctypes.CDLL:
    for folder in map(Path, sys.path):
        for path in sorted(folder.glob("nvidia/cu*/lib/libnvrtc.so.*")) + sorted(
            folder.glob("nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
        ):
            return ctypes.CDLL(str(path))
    pytest.skip("the nvidia-cuda-nvrtc wheel is not installed")


def ptx(text: str, instance: str) -> list[str]:
    """Instructions of one kernel, its own name and the numbers of its labels left out."""
    nvrtc, program = library(), ctypes.c_void_p()
    names, contents = ((ctypes.c_char_p * len(HEADERS))(*(part.encode() for part in parts))
                       for parts in (HEADERS.keys(), HEADERS.values()))  # fmt: skip
    assert (
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", len(HEADERS), contents, names) == 0
    )
    assert nvrtc.nvrtcAddNameExpression(program, instance.encode()) == 0
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_80", b"--std=c++17")
    status = nvrtc.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == 0, f"{log.value.decode()}\n{text}"
    lowered = ctypes.c_char_p()
    nvrtc.nvrtcGetLoweredName(program, instance.encode(), ctypes.byref(lowered))
    name = (lowered.value or b"").decode()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, code)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    whole = code.value.decode()
    part = whole[whole.index(f".entry {name}(") :].replace(name, "NAME")
    part = part[: part.index("\n}")]
    part = re.sub(r"\$L__BB\d+_", "$L_", part)
    part = re.sub(r"_ZZ\w+", "SHARED", part)
    part = re.sub(r"\.shared \.align \d+", ".shared", part)  # the print aligns for wide accesses
    return [line.strip() for line in part.splitlines() if line.strip() and not line.strip().startswith("//")]


def work(code: list[str]) -> Counter[str]:
    """How often each instruction stands there, whatever its registers and labels."""
    return Counter(re.sub(r"%[a-z]+\d+|\$L_\d+", "_", line) for line in code if not line.startswith(".reg"))


def floating(code: list[str]) -> Counter[str]:
    """How often each operation on floating-point numbers stands there; a wide load or store counts by its elements."""
    counted: Counter[str] = Counter()
    for line in code:
        for word in re.findall(r"^(?:@\S+ )?([a-z.0-9]+\.f(?:16|32|64))\b", line):
            wide = re.search(r"\.v(\d)\.", word)
            counted[re.sub(r"\.v\d\.", ".", word)] += int(wide.group(1)) if wide else 1
    return counted


@pytest.mark.parametrize("name", KERNELS)
def test_round_trip_gives_the_same_ptx(name: str) -> None:
    path, entry, template = KERNELS[name]
    text = path.read_text()
    if re.search(r"#include <cuda_[bf]", text):
        pytest.skip("the headers of 16-bit floats come with CUDA, not with the wheel")
    kernel = parse_kernel(text, entry, path=str(path), template_args=template)
    assert not kernel.verbatim
    instance = f"{entry}<{','.join(template)}>" if template else entry
    written, printed = ptx(text, instance), ptx(print_kernel(kernel, Target.CUDA), entry)
    back = round_trip(open_kernel(text, entry, str(path), template, (), ()), str(path))
    assert written == ptx(print_kernel(back, Target.CUDA), entry)
    if name in UNROLLED:
        assert set(floating(written)) == set(floating(printed)) != set()
    elif name in OTHER_WORK:
        assert floating(written) == floating(printed) != Counter()
    elif name in OTHER_ORDER:
        assert work(written) == work(printed)
    else:
        assert written == printed

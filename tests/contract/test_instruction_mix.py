"""The instruction mix that is read from machine code, against sources that differ by a known number of operations."""

from __future__ import annotations

import pytest

from evaluator.cuda.instructions import instruction_mix
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.result import INSTRUCTION_CLASSES

HEAD = 'extern "C" __global__ void k(const float* a, float* b, int* h)'


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    try:
        return Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))


def mix(nvrtc: Nvrtc, body: str, architecture: str = "sm_90") -> dict[str, int]:
    result = nvrtc.compile(f"{HEAD} {{ {body} }}", "k.cu", (f"-arch={architecture}",))
    assert result.ok, result.log
    return dict(instruction_mix(result.cubin))


def chain(length: int) -> str:
    """So many dependent multiply-adds, which nothing can leave out."""
    steps = " ".join("x = fmaf(x, y, x);" for _ in range(length))
    return f"float x = a[threadIdx.x], y = a[threadIdx.x + 32]; {steps} b[threadIdx.x] = x;"


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_each_operation_is_counted_in_its_class(nvrtc: Nvrtc, architecture: str) -> None:
    short, long = mix(nvrtc, chain(10), architecture), mix(nvrtc, chain(25), architecture)
    assert long["float"] - short["float"] == 15
    assert short["global"] == long["global"] == 3
    assert set(short) <= set(INSTRUCTION_CLASSES)


def test_memories_and_barriers_are_told_apart(nvrtc: Nvrtc) -> None:
    plain = mix(nvrtc, "b[threadIdx.x] = a[threadIdx.x];")
    assert plain["global"] == 2 and not {"shared", "local", "barrier"} & set(plain)
    shared = mix(nvrtc, "__shared__ float s[64]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads();"
                        "b[threadIdx.x] = s[63 - threadIdx.x];")  # fmt: skip
    assert (shared["global"], shared["shared"], shared["barrier"]) == (2, 2, 1)
    local = mix(nvrtc, "float t[16]; for (int i = 0; i < 16; i++) t[i] = a[i];"
                       "for (int i = 0; i < h[0]; i++) t[h[i] & 15] += a[i]; b[0] = t[h[1] & 15];")  # fmt: skip
    assert local["local"] >= 7, "16 stores, four at a time at best, and three accesses by indices that nobody knows"
    counted = mix(nvrtc, "atomicAdd(h + (threadIdx.x & 3), 1);")
    assert counted["global"] >= 1


def test_a_file_of_another_kind_has_no_instructions() -> None:
    assert instruction_mix(b"") == instruction_mix(b"no machine code, though it is long enough to be some") == ()

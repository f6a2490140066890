"""16-bit floats as CUDA: the printed kernel compiles for real architectures, and computes on a GPU what was asked."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.cuda.compile import compile_variant
from evaluator.cuda.headers import header_folders
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.devices import list_devices, open_backend
from genome.variant import Target
from tests.contract.halves import BFLOAT16, FUSED, HALF, LOOSE, Format, call_of, expected, run, variant

KINDS = pytest.mark.parametrize("kind", [HALF, BFLOAT16], ids=lambda kind: kind.short)


@KINDS
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_every_operation_compiles(kind: Format, architecture: str) -> None:
    try:
        nvrtc = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    if not header_folders():
        pytest.skip("CUDA's headers are not installed")
    binary = compile_variant(nvrtc, architecture, variant(kind, Target.CUDA), [call_of(kind)], "", lambda stage: None)
    assert binary.resources.registers


@pytest.mark.gpu
@KINDS
def test_every_operation_rounds_on_a_gpu(kind: Format) -> None:
    if not any(info.id == "cuda:0" for info in list_devices()):
        pytest.skip("no CUDA device")
    found = run(open_backend("cuda:0"), kind)
    for name, wanted in expected(kind).items():
        if name in FUSED:
            continue
        if name in LOOSE:  # one unit in the last place of the type
            np.testing.assert_allclose(found[name], wanted, rtol=2.0**-kind.mantissa, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], wanted, err_msg=name)

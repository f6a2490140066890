"""OpenCL C has no 16-bit floats: what is printed for them computes what CUDA's headers define, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.halves import BFLOAT16, HALF, Format, expected, run

pytest.importorskip("pyopencl")

from evaluator.devices import list_devices, open_backend


@pytest.mark.parametrize("kind", [HALF, BFLOAT16], ids=lambda kind: kind.short)
def test_every_operation_rounds_as_cuda_does(kind: Format) -> None:
    if not any(info.id == "opencl:0" for info in list_devices()):
        pytest.skip("no OpenCL device")
    found = run(open_backend("opencl:0"), kind)
    for name, wanted in expected(kind).items():
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)

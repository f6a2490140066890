"""The evaluator contract on OpenCL."""

from __future__ import annotations

import pytest

pytest.importorskip("pyopencl")

from evaluator.devices import list_devices
from genome.variant import Target
from tests.contract.evaluator_contract import EvaluatorContract

PRELUDE = """#define KERNEL __kernel
#define GLOBAL __global
#define GID ((int)get_global_id(0))
#define GID2 ((int)get_global_id(1))
"""

pytestmark = pytest.mark.skipif(
    not any(info.id == "opencl:0" for info in list_devices()), reason="no OpenCL device answers"
)


class TestOpenCL(EvaluatorContract):
    device = "opencl:0"
    prelude = PRELUDE
    target = Target.OPENCL

"""The device of the adversarial tests: ``--device cuda:0``, or the variable EVO_TUNE_TEST_DEVICE, or opencl:0."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.devices import list_devices
from evaluator.pool import LocalEvaluator
from tests.adversarial.arena import AXPB, Ring, ring_on, whole


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default=None, help="device of the adversarial tests, such as cuda:0")


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    chosen = request.config.getoption("--device", default=None) or os.environ.get("EVO_TUNE_TEST_DEVICE", "opencl:0")
    here = [info.id for info in list_devices()]
    if chosen not in here:
        pytest.skip(f"there is no device {chosen} here (usable: {', '.join(here) or 'none'})")
    return str(chosen)


@pytest.fixture(scope="session")
def on_gpu(device: str) -> bool:
    return next(info.kind for info in list_devices() if info.id == device) == "gpu"


@pytest.fixture(scope="session")
def ring(device: str, tmp_path_factory: pytest.TempPathFactory) -> Ring:
    """One device in this process; its stations are shared by all tests."""
    folder = tmp_path_factory.mktemp("ring")
    os.environ.setdefault("POCL_CACHE_DIR", str(folder / "pocl"))
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    return ring_on(device, folder)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Device peaks are measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def evaluator(device: str, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEvaluator]:
    """An evaluator with all its processes and every defence, for variants that kill the process they run in."""
    with whole(AXPB, device, tmp_path_factory.mktemp("whole"), cache, run_timeout_s=0.5) as evaluator:
        yield evaluator

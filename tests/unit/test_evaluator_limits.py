"""A campaign's limits narrow the device's, and leave alone what they do not speak of."""

from __future__ import annotations

import pytest

from evaluator.plan import register_problem, tighter
from evaluator.result import Resources
from genome.limits import DeviceLimits


def test_the_number_of_multiprocessors_is_kept() -> None:
    own = DeviceLimits(max_threads=128, registers=64)
    narrowed = tighter(DeviceLimits(units=132, max_threads=1024), own)
    assert (narrowed.units, narrowed.max_threads, narrowed.registers) == (132, 128, 64)


def test_without_limits_of_its_own_the_device_decides() -> None:
    device = DeviceLimits(units=132)
    assert tighter(device, None) == device


@pytest.mark.parametrize(("used", "limit", "refused"), [(65, 64, True), (64, 64, False), (None, 64, False),
                                                        (255, 0, False)])  # fmt: skip
def test_registers_are_limited_where_the_compiler_tells(used: int | None, limit: int, refused: bool) -> None:
    problem = register_problem(Resources(registers=used), DeviceLimits(registers=limit))
    assert bool(problem) is refused
    assert not refused or "65 registers a thread are over the limit of 64" in problem

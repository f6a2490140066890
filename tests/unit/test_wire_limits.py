"""A campaign's limits narrow the device's, and leave alone what they do not speak of."""

from __future__ import annotations

from evaluator import plan
from evo.wire import tighter
from genome.limits import DeviceLimits
from genome.spec import KernelSpec, LaunchSpec


def test_the_number_of_multiprocessors_is_kept() -> None:
    own = DeviceLimits(max_threads=128, registers=64)
    spec = KernelSpec("k", "", "k", (), LaunchSpec((1, 1, 1)), (), limits=own)
    device = DeviceLimits(units=132, max_threads=1024)
    for narrowed in (tighter(device, spec), plan.tighter(device, own)):
        assert (narrowed.units, narrowed.max_threads, narrowed.registers) == (132, 128, 64)

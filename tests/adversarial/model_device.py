"""A device made of numpy, for weaknesses that no real CPU device has: its clock, its caches and its faults are rules.

A variant's source is the name of a rule. It is not a device of the project and times nothing: tests with it show what
the evaluator concludes from a device that behaves so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from evaluator.api import Measured
from evaluator.backend import Backend, Binary, Buffer, Bytes, Loaded, Peaks, Placement
from evaluator.correctness import POISONS
from evaluator.defences import Defences
from evaluator.messages import Fatal, Prepared, Setup, Work
from evaluator.plan import Call
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from evaluator.settings import EvaluatorSettings
from evaluator.station import Station
from evaluator.worker import open_baseline, run_cascade
from genome.limits import DeviceLimits
from genome.variant import Scratch, Target, Variant
from tests.adversarial.arena import AXPB, SEED, Silent

COLD_MS, WARM_MS, IDLE_MS = 10.0, 1.0, 0.01
MEMORY = 1 << 20


class Memory:
    """A buffer that is only mapped when it is used, as an overcommitting system does."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.data: Bytes = np.zeros(min(nbytes, MEMORY), np.uint8)

    def place(self, placement: Placement, alignment: int) -> None:
        del placement, alignment

    def write(self, data: Bytes) -> None:
        self.data[:] = data

    def fill(self, byte: int) -> None:
        self.data[:] = byte

    def read(self) -> Bytes:
        return self.data.copy()

    def damage(self) -> str:
        return ""

    def release(self) -> None:
        self.data = self.data[:0]

    def floats(self) -> np.ndarray:
        return self.data.view(np.float32)


@dataclass(frozen=True)
class Rule:
    """The loaded form of a variant: the name of a rule."""

    variant: str
    name: str


@dataclass
class ModelDevice:
    """C = 1.5 A + B. The last-level cache holds what the last run touched until it is flushed."""

    rules: Mapping[str, Callable[[ModelDevice, Mapping[str, Memory]], float]]
    warm: bool = False
    launches: int = 0
    flushes: int = 0
    info: DeviceInfo = field(default_factory=lambda: DeviceInfo(
        "model:0", "model", "tests", "model", "gpu", 1, MEMORY, l2_bytes=1 << 16))  # fmt: skip
    limits: DeviceLimits = field(default_factory=DeviceLimits)
    toolchain: Toolchain = field(default_factory=lambda: Toolchain("model", "1", "1"))
    target: Target = Target.OPENCL

    def compile(self, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]) -> Binary:
        del trials, salt, notify
        return Binary(variant.digest(), variant.source.encode())

    def load(self, binary: Binary) -> Rule:
        return Rule(binary.variant, binary.payload.decode().splitlines()[-1])

    def allocate(self, nbytes: int) -> Memory:
        return Memory(nbytes)

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        del call
        assert isinstance(loaded, Rule)
        self.launches += 1
        memory = {name: buffer for name, buffer in buffers.items() if isinstance(buffer, Memory)}
        ms = self.rules[loaded.name](self, memory)
        self.warm = True
        return ms

    def flush(self, cap_bytes: int) -> None:
        del cap_bytes
        self.warm, self.flushes = False, self.flushes + 1

    def measure_peaks(self) -> Peaks:
        return Peaks(1.0, 1.0)

    def time_of_a_pass(self) -> float:
        """Milliseconds that moving the arrays takes now."""
        return WARM_MS if self.warm else COLD_MS


def right(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    memory["C"].floats()[:] = np.float32(1.5) * memory["A"].floats() + memory["B"].floats()
    return device.time_of_a_pass()


def judged(
    rule: Callable[[ModelDevice, Mapping[str, Memory]], float], folder: Path, *, scratch: tuple[Scratch, ...] = (),
    work: Mapping[str, Work] | None = None, cold_cache: bool = True, peaks: Peaks | None = None, **flags: bool,
) -> tuple[Evaluation | None, float, float]:  # fmt: skip
    """What becomes of a rule after the right one opened: (failure or None, its median, the baseline's) in ms."""
    device: Backend = ModelDevice({"right": right, "rule": rule})
    settings = EvaluatorSettings(
        min_samples=3, max_samples=6, cold_cache=cold_cache, defences=replace(Defences(), **flags)
    )
    session = folder / str(len(list(folder.iterdir())))
    session.mkdir()
    setup = Setup(AXPB.spec, "model:0", settings, None, SEED, session, peaks or Peaks(), dict(work or {}))
    station = Station(device, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
    opened = open_baseline(station, _prepared(device, "right"))
    assert not isinstance(opened, Fatal), opened.message
    outcome = run_cascade(station, _prepared(device, "rule", scratch), {})
    failure = Measured(0, outcome.evaluations, outcome.checks).failure
    return failure, _median(outcome.evaluations), _median(opened.evaluations)


def _prepared(device: Backend, rule: str, scratch: tuple[Scratch, ...] = ()) -> Prepared:
    variant = replace(AXPB.variant("", Target.OPENCL, scratch=scratch), source=rule)
    return Prepared(variant, device.compile(variant, [], "", lambda stage: None))


def _median(evaluations: Sequence[Evaluation]) -> float:
    timing = evaluations[0].timing if evaluations else None
    return timing.median_ms if timing else float("nan")


def poisoned(memory: Memory) -> bool:
    """True if a buffer looks as before a verification."""
    return any(bool((memory.data == byte).all()) for byte in POISONS)

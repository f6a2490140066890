"""Records of the evaluator: what happened to a variant at one problem size, and what it tells about the hardware."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """How an evaluation ended."""

    OK = "ok"
    COMPILE_ERROR = "compile_error"
    COMPILE_TIMEOUT = "compile_timeout"
    LAUNCH_ERROR = "launch_error"
    LIMIT = "limit"  # over a limit that only the compiler or the device could see
    OUT_OF_MEMORY = "out_of_memory"
    WRONG = "wrong"  # output differs from the oracle
    UNWRITTEN = "unwritten"  # poison left where the baseline writes
    STRAY_WRITE = "stray_write"  # canary, input or untouched output element changed
    UNSTABLE = "unstable"  # repeated runs disagree, or wrong after timing
    IMPOSSIBLE = "impossible"  # faster than the hardware's bandwidth or peak allows
    TIMEOUT = "timeout"
    CRASH = "crash"

    @property
    def retryable(self) -> bool:
        """True if the cause may be the machine and not the variant."""
        return self in (Status.TIMEOUT, Status.CRASH, Status.COMPILE_TIMEOUT, Status.OUT_OF_MEMORY)


@dataclass(frozen=True)
class Timing:
    """Samples of one size in one process, in milliseconds, and a bootstrap interval of their median.

    ``core_mhz`` and ``memory_mhz`` are the device's clocks right after the last sample; 0 where it does not tell.
    """

    samples_ms: tuple[float, ...]
    median_ms: float
    low_ms: float
    high_ms: float
    core_mhz: int = 0
    memory_mhz: int = 0


INSTRUCTION_CLASSES = (
    "float", "tensor", "special", "integer", "global", "shared", "local", "barrier", "branch", "other",
)  # fmt: skip
"""Of machine instructions, as ``Resources.mix`` counts them."""


@dataclass(frozen=True)
class Resources:
    """What the compiler said. None where the platform does not tell.

    Attributes:
        registers: Of a thread, 32 bits each.
        spills_bytes: That a thread stores to and loads from local memory for want of registers.
        shared_bytes: Static shared memory of a block.
        private_bytes: Local memory of a thread.
        occupancy: Share of a multiprocessor's threads that registers, shared memory and block leave, 0..1.
        mix: How many machine instructions of each class there are, by class; empty where nobody can tell.
    """

    registers: int | None = None
    spills_bytes: int | None = None
    shared_bytes: int | None = None
    private_bytes: int | None = None
    occupancy: float | None = None
    mix: tuple[tuple[str, int], ...] = ()


class Bottleneck(StrEnum):
    """What limits a kernel."""

    DRAM = "dram"
    L2 = "l2"
    SHARED = "shared"
    COMPUTE = "compute"
    ISSUE = "issue"
    LATENCY = "latency"
    DIVERGENCE = "divergence"
    ATOMICS = "atomics"
    LAUNCH = "launch"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Profile:
    """Where the time goes. ``measured`` names the fields that counters gave; the others come from the model.

    Attributes:
        bottleneck: The verdict.
        evidence: One sentence for a person.
        flops: Floating-point operations of the launch at this size.
        bytes: Compulsory bytes (each argument once), in bytes.
        gflops: Achieved GFLOP/s.
        gbytes_per_s: Achieved GB/s of compulsory traffic.
        roofline_fraction: Achieved share of the roofline at this intensity, 0..1.
        counters: (name, value) of hardware counters, where there are any.
    """

    bottleneck: Bottleneck
    evidence: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    gflops: float = 0.0
    gbytes_per_s: float = 0.0
    roofline_fraction: float = 0.0
    measured: tuple[str, ...] = ()
    counters: tuple[tuple[str, float], ...] = ()

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in FLOP/byte."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class Evaluation:
    """A variant at one problem size on one device.

    Attributes:
        variant: Digest of the variant.
        size: Label of the problem size.
        status: How it ended; ``timing`` is there only when it is OK.
        message: For a person; empty when OK.
        timing: Samples and interval.
        resources: What the compiler said.
        profile: Roofline placement; None where the status is not OK.
        max_error: Largest error against the oracle, relative to the tolerance (1.0 = at the tolerance).
        fallback: True if the guard does not hold at this size, so that the baseline ran.
        compile_s: Seconds of compilation (0 when cached).
        device_s: Seconds that the device was held.
        stage: Stage of the cascade that ended it (``compile``, ``check``, ``time``, ...).
        energy_mj: Millijoules of a call, where the objective asks for them.
        drift: How much longer the baseline took around this measurement than when it was first timed; ``timing`` is
            divided by it, so that it compares with that first timing.
    """

    variant: str
    size: str
    status: Status
    message: str = ""
    timing: Timing | None = None
    resources: Resources = field(default_factory=Resources)
    profile: Profile | None = None
    max_error: float | None = None
    fallback: bool = False
    compile_s: float = 0.0
    device_s: float = 0.0
    stage: str = ""
    drift: float = 1.0
    energy_mj: float | None = None


@dataclass(frozen=True)
class Toolchain:
    """Everything beside the hardware that changes a timing."""

    platform: str  # "PoCL 3.0", "CUDA 13.0"
    driver: str
    compiler: str

    @property
    def label(self) -> str:
        """One line for tables and keys."""
        return f"{self.platform} | {self.driver} | {self.compiler}"


@dataclass(frozen=True)
class DeviceInfo:
    """Fingerprint of the hardware, apart from its toolchain.

    Attributes:
        id: How the user names it (``opencl:0``, ``cuda:0``, ``replay:FILE``).
        name, vendor, architecture: As the driver says (``NVIDIA H200``, ``NVIDIA``, ``sm_90``).
        kind: ``gpu`` or ``cpu``.
        units: Multiprocessors or cores.
        memory_bytes: Device memory.
        l2_bytes: Last-level cache.
        bandwidth_gbs: Peak or measured bandwidth in GB/s; 0 unknown.
        peak_gflops: Single-precision peak in GFLOP/s; 0 unknown.
    """

    id: str
    name: str
    vendor: str
    architecture: str
    kind: str
    units: int
    memory_bytes: int
    l2_bytes: int = 0
    bandwidth_gbs: float = 0.0
    peak_gflops: float = 0.0
    shared_bytes: int = 0
    max_threads: int = 0
    clock_mhz: int = 0

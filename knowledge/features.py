"""Feature vectors: documented, versioned, finite. The base stores the version beside each vector."""

from __future__ import annotations

import math
from collections.abc import Mapping

from evaluator.result import DeviceInfo
from genome.ir.kernel import Kernel
from genome.sizes import ExpressionError
from genome.spec import DTYPES, KernelSpec, ProblemSize
from knowledge.genome_features import GENOME_FEATURE_VERSION, GENOME_FEATURES, genome_features
from knowledge.kernel_digest import kernel_digest
from knowledge.kernel_features import KERNEL_FEATURE_VERSION, KERNEL_FEATURES, kernel_features
from knowledge.records import KernelRecord

__all__ = [
    "DEVICE_FEATURES", "DEVICE_FEATURE_VERSION", "GENOME_FEATURES", "GENOME_FEATURE_VERSION", "KERNEL_FEATURES",
    "KERNEL_FEATURE_VERSION", "SIZE_FEATURES", "SIZE_FEATURE_VERSION", "device_features", "genome_features",
    "kernel_features", "kernel_record", "label_features", "size_features",
]  # fmt: skip

DEVICE_FEATURE_VERSION = 1
DEVICE_FEATURES = (
    "gpu",  # 1 for a GPU, 0 for a CPU
    "nvidia", "amd", "intel",  # vendor
    "units",  # log2(1 + multiprocessors or cores) / 8
    "memory", "l2", "shared",  # log2(1 + bytes) / 40
    "bandwidth",  # log2(1 + GB/s) / 12
    "peak",  # log2(1 + GFLOP/s) / 16
    "balance",  # log2(1 + FLOP/byte at the ridge of the roofline) / 8; 0 where one of the two is unknown
    "threads",  # log2(1 + threads of a block) / 12
    "clock",  # MHz / 4000
)  # fmt: skip

SIZE_FEATURE_VERSION = 1
SIZE_FEATURES = (
    "count",  # number of sizes
    "volume",  # sum of log2 over the sizes
    "largest", "smallest",  # log2 of the largest and the smallest size
    "twos",  # smallest power of two that divides all sizes, as log2, at most 10: whether tiles fit
    "powers",  # share of the sizes that are powers of two
    "bytes",  # log2(1 + bytes of all array arguments); 0 where the spec is not known
    "threads",  # log2(1 + threads of the launch domain); 0 where the spec is not known or gives a grid
)  # fmt: skip


def device_features(device: DeviceInfo) -> tuple[float, ...]:
    """The vector that ``DEVICE_FEATURES`` names."""
    vendor = f"{device.vendor} {device.name}".lower()
    known = device.bandwidth_gbs > 0 and device.peak_gflops > 0
    return (
        float(device.kind == "gpu"),
        float("nvidia" in vendor),
        float("amd" in vendor or "advanced micro" in vendor),
        float("intel" in vendor),
        _log(device.units) / 8,
        _log(device.memory_bytes) / 40,
        _log(device.l2_bytes) / 40,
        _log(device.shared_bytes) / 40,
        _log(device.bandwidth_gbs) / 12,
        _log(device.peak_gflops) / 16,
        _log(device.peak_gflops / device.bandwidth_gbs) / 8 if known else 0.0,
        _log(device.max_threads) / 12,
        device.clock_mhz / 4000,
    )


def label_features(sizes: Mapping[str, int]) -> tuple[float, ...]:
    """The vector that ``SIZE_FEATURES`` names, where only the sizes are known."""
    values = [max(1, abs(value)) for value in sizes.values()]
    if not values:
        return (0.0,) * len(SIZE_FEATURES)
    logs = [math.log2(value) for value in values]
    divisor = math.gcd(*values)
    twos = min(10, (divisor & -divisor).bit_length() - 1)
    powers = sum(value & (value - 1) == 0 for value in values) / len(values)
    return (float(len(values)), sum(logs), max(logs), min(logs), float(twos), powers, 0.0, 0.0)


def size_features(spec: KernelSpec, size: ProblemSize) -> tuple[float, ...]:
    """The vector that ``SIZE_FEATURES`` names."""
    env = size.env
    try:
        extents = [(arg.extent(env), DTYPES[arg.dtype][1]) for arg in spec.args if not arg.is_scalar]
        domain = [axis.evaluate(env) for axis in spec.launch.domain]
    except ExpressionError:  # a recorded space names arguments by sizes that it does not have
        extents, domain = [], []
    moved = sum(math.prod(extent) * width for extent, width in extents)
    return (*label_features(env)[:-2], _log(moved), _log(math.prod(domain)) if domain else 0.0)


def kernel_record(spec: KernelSpec, kernel: Kernel | None) -> KernelRecord:
    """What the base stores of a kernel.

    Args:
        spec: The campaign's description.
        kernel: The normalised IR, unmapped; None where the source could not be parsed.
    """
    sizes = {size.label: size_features(spec, size) for size in (*spec.sizes, *spec.check_sizes)}
    return KernelRecord(
        spec.name, kernel_digest(kernel, spec), spec.source, spec.entry, kernel_features(kernel, spec),
        KERNEL_FEATURE_VERSION, tuple(sizes.items()),
    )  # fmt: skip


def _log(value: float) -> float:
    return math.log2(1.0 + max(0.0, value))

"""Roofline placement of a timing, and measured peaks of a device (once, then from a file).

The model is Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009: a kernel takes at least
``max(flops / peak, bytes / bandwidth)``. Bytes are compulsory ones, each argument once.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.result import Bottleneck, DeviceInfo, Profile, Toolchain

_NEAR = 0.5  # share of a ceiling from which that ceiling is said to limit
_LAUNCH_MS = 0.02
_PARTED = 0.6  # share of the threads that take part, below which the rest is missed (as with counters)


@dataclass(frozen=True)
class AtomicCost:
    """Nanoseconds of an atomic update of global memory.

    Attributes:
        same: One after another at one address.
        apart: Of the whole device, at addresses of their own.
    """

    same: float
    apart: float


_ATOMIC = {"gpu": AtomicCost(1.75, 0.12), "cpu": AtomicCost(4.0, 2.0)}
"""By kind of device. GPU: seen on an H200 at an atomicAdd a thread, 2**27 floats to one sum in 235.6 ms and 2**27 bytes
into 256 bins in 16.6 ms. CPU: PoCL on two cores, 2**18 floats in 1.1 ms and 2**20 bytes in 2.4 ms."""


@dataclass(frozen=True)
class Strain:
    """What the text of a variant says beside its work. Estimates.

    Attributes:
        updates: Atomic updates of global memory in a call.
        addresses: Elements that they go to, at most.
        active: Share of a warp's threads that take part in an operation, on average, 0..1.
        where: The condition that most of the others wait at, for a person; empty if none.
    """

    updates: float = 0.0
    addresses: float = 1.0
    active: float = 1.0
    where: str = ""


def bound_ms(work: Work, peaks: Peaks) -> float:
    """The least time that the roofline allows, in milliseconds; 0 where the peaks are unknown."""
    compute = work.flops / (peaks.gflops * 1e6) if peaks.gflops else 0.0
    memory = work.bytes / (peaks.bandwidth_gbs * 1e6) if peaks.bandwidth_gbs else 0.0
    return max(compute, memory)


def place(work: Work, ms: float, peaks: Peaks) -> Profile:
    """The Profile of a timing.

    Args:
        work: Operations of the call; 0 flops = unknown.
        ms: Median time.
        peaks: Measured ceilings.
    """
    gflops, gbytes = work.flops / (ms * 1e6), work.bytes / (ms * 1e6)
    compute = gflops / peaks.gflops if peaks.gflops else 0.0
    memory = gbytes / peaks.bandwidth_gbs if peaks.bandwidth_gbs else 0.0
    rates = f"{gbytes:.3g} of {peaks.bandwidth_gbs:.3g} GB/s, {gflops:.3g} of {peaks.gflops:.3g} GFLOP/s"
    if not peaks.bandwidth_gbs:
        verdict, why = Bottleneck.UNKNOWN, "the device's peaks are not known"
    elif max(compute, memory) >= _NEAR:
        verdict = Bottleneck.COMPUTE if compute >= memory else Bottleneck.DRAM
        why = f"near the ceiling: {rates}"
    elif ms < _LAUNCH_MS:
        verdict, why = Bottleneck.LAUNCH, f"{ms * 1e3:.1f} us is mostly the launch itself"
    elif work.flops and compute > memory:
        verdict, why = Bottleneck.ISSUE, f"far below both ceilings ({rates}): other instructions, or waiting"
    else:
        verdict, why = Bottleneck.LATENCY, f"far below both ceilings ({rates}): waiting, or too little work at once"
    return Profile(verdict, why, work.flops, work.bytes, gflops, gbytes, min(1.0, max(compute, memory)))


def strained(profile: Profile, strain: Strain, ms: float, kind: str) -> Profile:
    """The profile with the bottlenecks that a roofline does not know: atomics and divergence, where they explain it.

    Args:
        profile: By the roofline, or by counters (then it stays as it is).
        strain: Of the same variant at the same size.
        ms: Median time.
        kind: Of the device: ``gpu`` or ``cpu``.
    """
    if "bottleneck" in profile.measured or profile.bottleneck is Bottleneck.UNKNOWN:
        return profile
    if profile.roofline_fraction >= _NEAR:
        return profile
    cost = _ATOMIC[kind]
    crowd = strain.updates / max(1.0, strain.addresses)
    least_ms = 1e-6 * max(crowd * cost.same, strain.updates * cost.apart)
    if least_ms >= _NEAR * ms:
        text = (f"{strain.updates:.3g} atomic updates of {strain.addresses:.3g} elements take about {least_ms:.3g} of "
                f"{ms:.3g} ms (estimated)")  # fmt: skip
        return replace(profile, bottleneck=Bottleneck.ATOMICS, evidence=text)
    if strain.active < _PARTED and profile.bottleneck is not Bottleneck.LAUNCH:
        text = f"about {strain.active:.0%} of a warp's threads take part in an operation (estimated): {strain.where}"
        return replace(profile, bottleneck=Bottleneck.DIVERGENCE, evidence=f"{text}; {profile.evidence}")
    return profile


def peaks_file(cache: Path, info: DeviceInfo, toolchain: Toolchain) -> Path:
    """Where the peaks of a device are kept."""
    key = json.dumps([info.name, info.vendor, info.architecture, info.units, toolchain.label])
    return cache / "peaks" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def read_peaks(path: Path) -> Peaks | None:
    """Peaks measured before; None if there are none or the file is not ours."""
    try:
        data = json.loads(path.read_text())
        return Peaks(float(data["bandwidth_gbs"]), float(data["gflops"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_peaks(path: Path, peaks: Peaks, info: DeviceInfo) -> None:
    """Keeps peaks for later runs; readers see a whole file or none. A cache that cannot be written is no error."""
    text = json.dumps({"device": info.name, "bandwidth_gbs": peaks.bandwidth_gbs, "gflops": peaks.gflops}, indent=2)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(path)

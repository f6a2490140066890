"""A variant at one size as numbers: grids, scalar values, scratch bytes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.elements import device_scalar, host_dtype, largest, rounded
from evaluator.result import Resources
from genome.limits import DeviceLimits
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import DTYPES, ArgSpec, KernelSpec, ProblemSize, Role
from genome.variant import Launch, Memset, Target, Variant

Scalar = np.generic

_WIDE = re.compile(
    r"\b(?:(?:float|double|(?:__)?half|(?:__)?nv_bfloat16|u?(?:char|short|int|long|longlong))(?:2|3|4|8|16)"
    r"|__align__|alignas)\b"
)


@dataclass(frozen=True)
class BoundLaunch:
    """A launch with every number known. ``args`` are buffer names or scalars of the argument's bytes."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[str | Scalar, ...]
    shared_bytes: int = 0
    static_shared_bytes: int = 0


@dataclass(frozen=True)
class Call:
    """All steps of a variant at one size.

    Attributes:
        steps: What runs, in order.
        buffers: Bytes of every array argument, by name.
        scratch: Bytes of every scratch buffer, by name.
        alignments: Bytes that base pointers must be a multiple of, by name: at least the element size, what the
            variant asks for, and what the campaign grants to a kernel that names a wide type itself. Nobody else gets
            more than they ask for: a tight placement would see less.
        variables: Variables of the program that are filled before the steps, outside of what is timed: each by name
            with the buffer or the scalar that it gets. None where launches pass them.
    """

    steps: tuple[Memset | BoundLaunch, ...]
    buffers: Mapping[str, int]
    scratch: Mapping[str, int]
    alignments: Mapping[str, int]
    variables: tuple[tuple[str, str | Scalar], ...] = ()

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, BoundLaunch))


def scalar_value(arg: ArgSpec, sizes: Mapping[str, int]) -> Scalar:
    """The value of a by-value argument, in what the host keeps its dtype in.

    Raises:
        EvaluatorError: If it has no value, or one that the dtype cannot hold.
    """
    if arg.value is None:
        raise EvaluatorError(f"scalar argument '{arg.name}' has no value: give `value:` in the campaign")
    try:
        value = arg.value.evaluate(sizes) if isinstance(arg.value, SizeExpr) else arg.value
        host = host_dtype(arg.dtype)
        scalar: Scalar = host.type(rounded(value, arg.dtype) if host.kind == "f" else value)
    except (ExpressionError, OverflowError, ValueError) as error:
        raise EvaluatorError(f"scalar argument '{arg.name}' ({arg.dtype}): {error}") from error
    if np.issubdtype(scalar.dtype, np.integer) and scalar != value:
        raise EvaluatorError(f"scalar argument '{arg.name}': {value} does not fit {arg.dtype}")
    if np.isinf(scalar) and not np.isinf(value):
        most = f"{largest(arg.dtype):g}, the largest {arg.dtype}"
        raise EvaluatorError(f"scalar argument '{arg.name}': {value} is beyond {most}")
    return scalar


def array_args(spec: KernelSpec) -> tuple[ArgSpec, ...]:
    """The array arguments in the order of the signature."""
    return tuple(arg for arg in spec.args if not arg.is_scalar)


def output_args(spec: KernelSpec) -> tuple[ArgSpec, ...]:
    """Arguments that the kernel writes."""
    return tuple(arg for arg in array_args(spec) if arg.role is not Role.IN)


def argument_bytes(spec: KernelSpec, size: ProblemSize) -> dict[str, int]:
    """Bytes of every array argument at a size."""
    return {arg.name: prod(arg.extent(size.env)) * DTYPES[arg.dtype][1] for arg in array_args(spec)}


def compulsory_bytes(spec: KernelSpec, size: ProblemSize) -> float:
    """Bytes that must move at least: every argument once, inout twice."""
    sizes = argument_bytes(spec, size)
    return float(sum(sizes[arg.name] * (2 if arg.role is Role.INOUT else 1) for arg in array_args(spec)))


def bind(spec: KernelSpec, variant: Variant, size: ProblemSize) -> Call:
    """The variant's steps at a size.

    Raises:
        EvaluatorError: If a launch names an argument that neither the spec nor the scratch buffers have.
    """
    sizes = size.env
    scratch = {item.name: item.elements.evaluate(sizes) * DTYPES[item.dtype][1] for item in variant.scratch}
    granted = spec.assumptions.alignment if _WIDE.search(spec.source) else 1
    alignments = {arg.name: max(DTYPES[arg.dtype][1], granted) for arg in array_args(spec)}
    alignments |= {item.name: 64 for item in variant.scratch}
    for name, alignment in variant.guard.alignments:
        alignments[name] = max(alignments.get(name, 1), alignment)
    steps = tuple(
        step if isinstance(step, Memset) else _bind_launch(spec, step, sizes, scratch) for step in variant.steps
    )
    variables = tuple((arg.name, _passed(arg, sizes) if arg.is_scalar else arg.name) for arg in spec.variables)
    filled = variables if variant.target is Target.CUDA else ()  # OpenCL C has none: its launches pass them
    return Call(steps, argument_bytes(spec, size), scratch, alignments, filled)


def _passed(arg: ArgSpec, sizes: Mapping[str, int]) -> Scalar:
    return device_scalar(scalar_value(arg, sizes), arg.dtype)


def _bind_launch(spec: KernelSpec, launch: Launch, sizes: Mapping[str, int], scratch: Mapping[str, int]) -> BoundLaunch:
    args: list[str | Scalar] = []
    for name in launch.args:
        arg = spec.arg(name)
        if arg is None and name not in scratch:
            raise EvaluatorError(f"'{launch.entry}' is passed '{name}', which is no argument and no scratch buffer")
        args.append(name if arg is None or not arg.is_scalar else _passed(arg, sizes))
    x, y, z = (axis.blocks(sizes) for axis in launch.grid)
    shared = launch.shared_bytes.evaluate(sizes)
    return BoundLaunch(launch.entry, (x, y, z), launch.block, tuple(args), shared, launch.static_shared_bytes)


def over_limits(call: Call, limits: DeviceLimits) -> str:
    """Empty if every launch fits the device, else which limit it breaks, for a person."""
    for launch in call.launches:
        threads = prod(launch.block)
        if threads > limits.max_threads:
            return f"'{launch.entry}' asks for {threads} threads in a block; the device allows {limits.max_threads}"
        for axis, block, most_block, grid, most_grid in zip(
            "xyz", launch.block, limits.max_block, launch.grid, limits.max_grid, strict=True
        ):
            if block > most_block:
                return f"'{launch.entry}' asks for a block of {block} along {axis}; the device allows {most_block}"
            if grid > most_grid:
                return f"'{launch.entry}' asks for {grid} blocks along {axis}; the device allows {most_grid}"
        if launch.shared_bytes + launch.static_shared_bytes > limits.shared_bytes:
            return (
                f"'{launch.entry}' asks for {launch.shared_bytes + launch.static_shared_bytes} bytes of shared memory; "
                f"the device allows {limits.shared_bytes}"
            )
    return ""


def static_problem(spec: KernelSpec, variant: Variant, limits: DeviceLimits) -> str:
    """Empty if the variant's launches can be bound and fit the limits at every size, else why not."""
    for size in (*spec.sizes, *spec.check_sizes):
        try:
            if not variant.guard.holds(size.env):
                continue
            problem = over_limits(bind(spec, variant, size), limits)
        except (EvaluatorError, ExpressionError) as error:
            problem = str(error)
        if problem:
            return f"over a limit at {size.label}: {problem}"
    return ""


def over_memory(call: Call, memory_bytes: int) -> str:
    """Empty if all buffers of a call fit the device's memory together, else by how much not, for a person."""
    needed = sum(call.buffers.values()) + sum(call.scratch.values())
    if not memory_bytes or needed <= memory_bytes:
        return ""
    most, size = max((size, name) for name, size in (*call.buffers.items(), *call.scratch.items()))
    return (
        f"its buffers take {needed:.4g} bytes together ('{size}' alone {most:.4g}); the device has {memory_bytes:.4g}"
    )


def memory_problem(spec: KernelSpec, variant: Variant, memory_bytes: int) -> str:
    """Empty if the variant's buffers fit the device's memory at every size, else where not."""
    for size in (*spec.sizes, *spec.check_sizes):
        if variant.guard.holds(size.env) and (text := over_memory(bind(spec, variant, size), memory_bytes)):
            return f"out of memory at {size.label}: {text}"
    return ""


def register_problem(resources: Resources, limits: DeviceLimits) -> str:
    """Why a binary uses more registers than it may; empty if it does not, or where the compiler does not tell."""
    used = resources.registers
    if used is None or not limits.registers or used <= limits.registers:
        return ""
    return f"{used} registers a thread are over the limit of {limits.registers}"


def tighter(device: DeviceLimits, campaign: DeviceLimits | None) -> DeviceLimits:
    """The smaller of two sets of limits, field by field."""
    if campaign is None:
        return device
    block = [min(a, b) for a, b in zip(device.max_block, campaign.max_block, strict=True)]
    grid = [min(a, b) for a, b in zip(device.max_grid, campaign.max_grid, strict=True)]
    return replace(
        device,
        max_threads=min(device.max_threads, campaign.max_threads),
        max_block=(block[0], block[1], block[2]),
        max_grid=(grid[0], grid[1], grid[2]),
        shared_bytes=min(device.shared_bytes, campaign.shared_bytes),
        registers=min(device.registers, campaign.registers) if device.registers else 0,
        unrolled=min(device.unrolled, campaign.unrolled),
    )

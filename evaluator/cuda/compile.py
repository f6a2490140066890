"""A variant becomes machine code for one architecture, with its resources. Needs no device and no driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from evaluator.backend import BackendFailure, Binary
from evaluator.cuda.cubin import Entry, complaints, parameter_sizes, read_log, variables
from evaluator.cuda.headers import header_folders
from evaluator.cuda.instructions import instruction_mix
from evaluator.cuda.nvrtc import Nvrtc
from evaluator.cuda.occupancy import ARCHITECTURES, STATIC_SHARED
from evaluator.plan import BoundLaunch, Call
from evaluator.result import Resources, Status
from genome.variant import Variant

_NAME = "kernel.cu"
_POINTER_BYTES = 8
_LOG_LINES = 12


def compile_variant(
    nvrtc: Nvrtc, architecture: str, variant: Variant, trials: Sequence[Call], salt: str, notify: Callable[[str], None]
) -> Binary:
    """See ``Backend.compile``. The payload is the machine code.

    Args:
        nvrtc: The compiler.
        architecture: ``sm_90``.
        variant: What to compile.
        trials: Calls at the campaign's sizes: their blocks and dynamic shared memory decide the occupancy.
        salt: Appended as a comment.
        notify: Called with ``compile`` when the compiler starts.

    Raises:
        BackendFailure: With COMPILE_ERROR or LIMIT.
    """
    for launch in variant.launches:
        _refuse_static_shared(launch.entry, launch.static_shared_bytes)
    notify("compile")
    source = variant.source + (f"\n// {salt}\n" if salt else "\n")
    result = nvrtc.compile(source, _NAME, _options(architecture, variant.options))
    entries = read_log(result.log)
    for name, entry in entries.items():
        _refuse_static_shared(name, entry.shared_bytes)
    if not result.ok:
        raise BackendFailure(Status.COMPILE_ERROR, _shorten(complaints(result.log) or result.log))
    sizes = parameter_sizes(result.cubin)
    for launch in variant.launches:
        if launch.entry not in entries and launch.entry not in sizes:
            text = f'the compiled source has no kernel named {launch.entry}; write its name with extern "C"'
            raise BackendFailure(Status.COMPILE_ERROR, text)
    launches = [launch for call in trials for launch in call.launches]
    for bound in launches:
        _check_parameters(bound, sizes.get(bound.entry))
    for call in trials:
        _check_variables(call, result.cubin)
    resources = replace(_resources(architecture, entries, launches), mix=instruction_mix(result.cubin))
    return Binary(variant.digest(), result.cubin, variant.options, resources, result.cached)


def _options(architecture: str, options: Sequence[str]) -> tuple[str, ...]:
    return (f"-arch={architecture}", "--ptxas-options=-v", *language_options(options), *options)


def language_options(options: Sequence[str] = ()) -> tuple[str, ...]:
    """How sources are read, unless ``options`` say otherwise: the standard, CUDA's headers, and that functions without
    a mark (methods and constructors of structs) are for the device.
    """
    standard = () if any(option.lstrip("-").startswith("std=") for option in options) else ("--std=c++17",)
    folders = (f"--include-path={folder}" for folder in header_folders())
    return (*standard, "--device-as-default-execution-space", *folders)


def _refuse_static_shared(entry: str, shared_bytes: int) -> None:
    if shared_bytes > STATIC_SHARED:
        text = f"'{entry}' declares {shared_bytes} bytes of shared memory; CUDA allows {STATIC_SHARED} static ones"
        raise BackendFailure(Status.LIMIT, text)


def _check_parameters(launch: BoundLaunch, sizes: tuple[int, ...] | None) -> None:
    """Compares what the launch passes with what the kernel reads. None: the machine code does not say."""
    if sizes is None:
        return
    if len(sizes) != len(launch.args):
        text = f"kernel '{launch.entry}' takes {len(sizes)} arguments, the launch passes {len(launch.args)}"
        raise BackendFailure(Status.COMPILE_ERROR, text)
    for number, (argument, size) in enumerate(zip(launch.args, sizes, strict=True), start=1):
        passed = _POINTER_BYTES if isinstance(argument, str) else argument.itemsize
        if passed != size:
            text = f"argument {number} of kernel '{launch.entry}' has {size} bytes, the launch passes {passed}"
            raise BackendFailure(Status.COMPILE_ERROR, text)


def _check_variables(call: Call, cubin: bytes) -> None:
    """What a host fills is large enough: the copy itself would not say. What is not there is not read."""
    found = variables(cubin) if call.variables else {}
    for name, given in call.variables:
        needed = call.buffers[given] if isinstance(given, str) else given.itemsize
        if name in found and found[name].nbytes < needed:
            text = f"variable '{name}' has {found[name].nbytes} bytes, the campaign fills {needed}"
            raise BackendFailure(Status.COMPILE_ERROR, text)


def _resources(architecture: str, entries: Mapping[str, Entry], launches: Sequence[BoundLaunch]) -> Resources:
    """Of the most demanding entry; the lowest occupancy of all launches. Unknown if the log does not tell.

    Raises:
        BackendFailure: With LIMIT if a block does not fit on a multiprocessor.
    """
    facts = ARCHITECTURES.get(architecture)
    shares = []
    for launch in launches:
        threads, entry = prod(launch.block), entries.get(launch.entry)
        if facts is None or entry is None:
            continue
        shared = entry.shared_bytes + launch.shared_bytes
        shares.append(facts.occupancy(threads, entry.registers, shared))
        if shares[-1] == 0.0:
            text = (
                f"a block of '{launch.entry}' does not fit on a multiprocessor of {architecture}: {threads} threads of "
                f"{entry.registers} registers, {shared} bytes of shared memory"
            )
            raise BackendFailure(Status.LIMIT, text)
    if not entries:
        return Resources()
    return Resources(
        registers=max(entry.registers for entry in entries.values()),
        spills_bytes=max(entry.spill_bytes for entry in entries.values()),
        shared_bytes=max(
            (
                entries[launch.entry].shared_bytes + launch.shared_bytes
                for launch in launches
                if launch.entry in entries
            ),
            default=max(entry.shared_bytes for entry in entries.values()),
        ),
        private_bytes=max(entry.frame_bytes for entry in entries.values()),
        occupancy=min(shares, default=None),
    )


def _shorten(log: str) -> str:
    """The first lines of a log."""
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    more = f" (and {len(lines) - _LOG_LINES} more lines)" if len(lines) > _LOG_LINES else ""
    return "\n".join(lines[:_LOG_LINES]) + more

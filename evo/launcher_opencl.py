"""``best.cl``: the evolved kernel as OpenCL C, with its launch recipe in a comment. Pure text."""

from __future__ import annotations

from collections.abc import Sequence

from genome.sizes import SizeExpr
from genome.variant import Launch, Variant


def opencl_program(
    best: Variant, baseline: Variant, header: Sequence[str], sides: Sequence[SizeExpr] = (), covers: bool = False
) -> str:
    """The evolved kernel below a comment that says how to build and launch it.

    Args:
        best: The evolved variant.
        baseline: The kernel as it was.
        header: Further lines of the comment.
        sides: Of the baseline's block, where it follows the sizes.
        covers: True if each of such blocks covers as much of a domain as it has threads.
    """
    lines = [*header, "", "Build options: " + (" ".join(best.options) or "none"), "Steps, in order:"]
    for step in best.steps:
        lines += _launch(step) if isinstance(step, Launch) else [f"  fill {step.buffer} with bytes of {step.value}"]
    lines += [f"  (scratch buffer {s.name}: {s.elements} elements of {s.dtype})" for s in best.scratch]
    guards = [str(condition) for condition in best.guard.conditions]
    guards += [f"{name} is a multiple of {by} bytes" for name, by in best.guard.alignments]
    if guards:
        lines += ["Right only where all of these hold; elsewhere run the kernel as it was:"]
        lines += [f"  {guard}" for guard in guards]
        lines += ["The kernel as it was:", *_launch(baseline.launches[0], sides, covers)]
    comment = "\n".join(f"// {line}".rstrip() for line in lines)
    return f"{comment}\n\n{best.source.strip()}\n"


def _launch(launch: Launch, sides: Sequence[SizeExpr] = (), covers: bool = False) -> list[str]:
    block = [f"({side})" if side.names else str(side) for side in sides]
    block += map(str, launch.block[len(block) :])
    tiles = [threads if covers and sides else axis.tile for threads, axis in zip(block, launch.grid, strict=True)]
    axes = zip(launch.grid, tiles, block, strict=True)
    sizes = ", ".join(f"ceil(({axis.extent}) / {tile}) * {threads}" for axis, tile, threads in axes)
    shared = "" if str(launch.shared_bytes) == "0" else f", {launch.shared_bytes} bytes of dynamic local memory"
    arguments = ", ".join(launch.args)
    return [f"  {launch.entry}({arguments})", f"    global size ({sizes}), local size ({', '.join(block)}){shared}"]

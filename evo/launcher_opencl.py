"""``best.cl``: the evolved kernel as OpenCL C, with its launch recipe in a comment. Pure text."""

from __future__ import annotations

from collections.abc import Sequence

from genome.variant import Launch, Variant


def opencl_program(best: Variant, baseline: Variant, header: Sequence[str]) -> str:
    """The evolved kernel below a comment that says how to build and launch it."""
    lines = [*header, "", "Build options: " + (" ".join(best.options) or "none"), "Steps, in order:"]
    for step in best.steps:
        lines += _launch(step) if isinstance(step, Launch) else [f"  fill {step.buffer} with bytes of {step.value}"]
    lines += [f"  (scratch buffer {s.name}: {s.elements} elements of {s.dtype})" for s in best.scratch]
    guards = [str(condition) for condition in best.guard.conditions]
    guards += [f"{name} is a multiple of {by} bytes" for name, by in best.guard.alignments]
    if guards:
        lines += ["Right only where all of these hold; elsewhere run the kernel as it was:"]
        lines += [f"  {guard}" for guard in guards]
        lines += ["The kernel as it was:", *_launch(baseline.launches[0])]
    comment = "\n".join(f"// {line}".rstrip() for line in lines)
    return f"{comment}\n\n{best.source.strip()}\n"


def _launch(launch: Launch) -> list[str]:
    axes = zip(launch.grid, launch.block, strict=True)
    sizes = ", ".join(f"ceil(({axis.extent}) / {axis.tile}) * {threads}" for axis, threads in axes)
    block = ", ".join(map(str, launch.block))
    shared = "" if str(launch.shared_bytes) == "0" else f", {launch.shared_bytes} bytes of dynamic local memory"
    return [f"  {launch.entry}({', '.join(launch.args)})", f"    global size ({sizes}), local size ({block}){shared}"]

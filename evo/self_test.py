"""Whether the front end read a kernel as it stands: its body parsed and printed back compiles to the same code."""

from __future__ import annotations

from evaluator.cache import DiskCache, cache_key
from evaluator.cuda.ptx import ptx_compiler
from genome.ir.print_errors import PrintError
from genome.ir.print_source import print_kernel
from genome.source.errors import SourceError
from genome.source.opening import open_kernel
from genome.source.round_trip import round_trip
from genome.source.verbatim import as_text
from genome.spec import KernelSpec
from genome.variant import Target

_SAME = b"same"


def misreading(spec: KernelSpec, cache: DiskCache) -> str:
    """How the parsed body differs from the text, in the compiler's eyes.

    Args:
        spec: A kernel with source.
        cache: Where what was found equal is remembered.

    Returns:
        A sentence; "" if there is no difference, or nothing on this machine that could tell one.
    """
    compiler = ptx_compiler()
    forms = _forms(spec)
    if compiler is None or forms is None:
        return ""
    version, compiled = compiler
    text, parsed = forms
    key = cache_key(("self-test", version, text, parsed))
    if cache.get(key) == _SAME:
        return ""
    written = compiled(text)
    if not written:
        return ""  # a header is missing, say: the device's own compiler will judge
    back = compiled(parsed)
    if back == written:
        cache.put(key, _SAME)
        return ""
    if not back:
        return f"the parsed kernel printed back does not compile with {version}"
    line = next((line for line, other in zip(back, written, strict=False) if line != other), back[-1])
    return f"the parsed kernel printed back is other code than its text to {version}, from '{line}' on"


def _forms(spec: KernelSpec) -> tuple[str, ...] | None:
    """The text of the kernel and its parsed body printed back, as CUDA; None if it was not parsed."""
    tunables = tuple((tunable.name, tunable.values[0]) for tunable in spec.tunables)
    defines = (*spec.defines, *tunables)
    try:
        opened = open_kernel(spec.source, spec.entry, spec.path, spec.template_args, defines, spec.include_dirs)
        return tuple(print_kernel(kernel, Target.CUDA) for kernel in (as_text(opened), round_trip(opened, spec.path)))
    except (SourceError, PrintError):
        return None

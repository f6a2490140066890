"""Input sets of one session: drawn once, by whichever process needs them first, and mapped by all the others."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

from evaluator.elements import Array, host_dtype
from evaluator.inputs import Generator, make_inputs
from evaluator.store import input_file, kept
from genome.spec import ArgSpec, KernelSpec, ProblemSize


def session_inputs(
    session: Path, spec: KernelSpec, size: ProblemSize, seed: int, which: int, perturb: bool, exponent: int,
    generate: Generator,
) -> dict[str, Array]:  # fmt: skip
    """See ``inputs.make_inputs``. Large arrays lie in files of the session, and must not be written to."""

    def keep(arg: ArgSpec, make: Callable[[], Array]) -> Array:
        path = input_file(session, size, arg.name, which, "inputs" if perturb else "inputs-as-given")
        return kept(path, prod(arg.extent(size.env)) * host_dtype(arg.dtype).itemsize, make)

    return make_inputs(spec, size, seed, which, perturb=perturb, exponent=exponent, generate=generate, keep=keep)

"""What a kernel needs from outside of it that nobody gives: headers that were not found, variables that hosts fill."""

from __future__ import annotations

import re

from genome.ir.kernel import Kernel
from genome.source.preprocess import preprocess
from genome.spec import KernelSpec

_WITH_COMPILER = re.compile(
    r"(?:std\w+|math|string|assert|float|limits|time|ctype|errno|signal|malloc|memory|unistd|getopt|pthread|omp|mpi)\.h"
    r"|(?:sys|linux|thrust|cub|cuda|cooperative_groups|GL|nv)/.*|\w+"
    r"|(?:cu|nv|cooperative_groups|device_|vector_|sm_|helper_|texture_|surface_|channel_|builtin_|host_|math_|mma|nccl|driver_|crt/)[^/]*\.h\w*"
)
"""Headers of C, C++, the CUDA toolkit and its samples: the engine knows what kernels use of them, or only hosts do."""


def missing_headers(spec: KernelSpec) -> tuple[str, ...]:
    """The user's own headers that are not there, as the file names them.

    Raises:
        SourceError: If the file cannot be preprocessed.
    """
    missing = preprocess(spec.source, spec.path, spec.defines, spec.include_dirs).missing
    return tuple(name for name in missing if not _WITH_COMPILER.fullmatch(name))


def unfilled_variables(kernel: Kernel) -> tuple[str, ...]:
    """Variables of the file that a host fills, and the campaign does not."""
    return tuple(variable.name for variable in kernel.variables if not variable.given)

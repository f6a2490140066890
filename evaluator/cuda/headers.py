"""Where CUDA's own headers are (``cuda_fp16.h``, ``mma.h``): the compiler library comes without any."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

_WHEELS = ("nvidia/cu13/include", "nvidia/cuda_runtime/include")
_OWN = "cuda_fp16.h"
_LIBRARIES = "cccl"  # what cuda_fp16.h includes (cuda/std/...) stands in a folder of its own since CUDA 13


@cache
def header_folders() -> tuple[str, ...]:
    """Folders with CUDA's headers: of the toolkit that ``CUDA_PATH`` or ``CUDA_HOME`` names, of the usual place, of an
    installed wheel; empty where there are none.
    """
    roots = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    places = [Path(root, "include") for root in filter(None, roots)]
    places += [Path(entry, wheel) for entry in sys.path for wheel in _WHEELS]
    found = next((place for place in places if (place / _OWN).is_file()), None)
    return () if found is None else tuple(str(p) for p in (found, found / _LIBRARIES) if p.is_dir())

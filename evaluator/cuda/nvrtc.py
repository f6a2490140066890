"""NVIDIA's run-time compiler, called through its C interface.

CuPy has a wrapper of its own, but a compiler process needs neither CuPy nor a driver: with the library alone (the wheel
``nvidia-cuda-nvrtc``, a CUDA toolkit, the system's library path) it compiles for any architecture on any machine.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from evaluator.cache import DiskCache, cache_key

_WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu13", "nvidia-cuda-nvrtc-cu12")
_FOLDERS = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
_MAJORS = (13, 12)
_NO_CACHE = "--no-cache"  # newer libraries remember results in the user's home, but not the assembler's log
_LENGTH = 8
_LIBRARY = re.compile(r"libnvrtc\.so\.(\d+)$")
MISSING = (
    "the compiler library NVRTC is missing: `pip install nvidia-cuda-nvrtc` (CUDA 13) or "
    "`pip install nvidia-cuda-nvrtc-cu12`, or set CUDA_PATH to an installed CUDA toolkit"
)


class NvrtcMissing(Exception):
    """No library was found; the text says how to get one."""


@dataclass(frozen=True)
class Compilation:
    """What the compiler answers: machine code (empty if it failed) and its log; ``cached`` if it did so earlier."""

    cubin: bytes
    log: str
    cached: bool = False

    @property
    def ok(self) -> bool:
        """True if there is machine code."""
        return bool(self.cubin)


class Nvrtc:
    """One loaded library.

    Args:
        major: CUDA version that is preferred where several are installed: machine code of a newer one may be refused
            by the driver.

    Raises:
        NvrtcMissing: If there is none.
    """

    def __init__(self, major: int | None = None) -> None:
        found = sorted(_candidates(), key=lambda item: major is not None and item[0] != major)
        for _, name in found:
            try:
                self._library = ctypes.CDLL(name)
                self._identity = _identity(name)
                break
            except OSError:  # absent, or for another processor: the next one may do
                continue
        else:
            raise NvrtcMissing(MISSING)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self._fresh: tuple[str, ...] = ()
        self._cache: DiskCache | None = None
        if _NO_CACHE not in self.compile("", "probe.cu", (_NO_CACHE,)).log:  # an older one complains of the option
            self._fresh = (_NO_CACHE,)

    @property
    def version(self) -> str:
        """Such as ``13.0``."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def use_cache(self, cache: DiskCache) -> None:
        """Takes results from there from now on, and leaves them there."""
        self._cache = cache

    def compile(self, source: str, name: str, options: Sequence[str]) -> Compilation:
        """Compiles CUDA C++ to machine code, or remembers what came of it: the same source, options and library give
        the same code and the same log.

        Args:
            source: The whole text.
            name: What the log calls it.
            options: Among them ``-arch=sm_XX``: a real architecture, not a virtual one.
        """
        if self._cache is None or "#include" in source:  # what a file held is not part of the key
            return self._compile(source, name, options)
        key = cache_key((self.version, self._identity, name, source, *options))
        if (known := self._cache.get(key)) is not None and (result := _unpacked(known)) is not None:
            return result
        result = self._compile(source, name, options)
        if result.ok:
            self._cache.put(key, _packed(result))
        return result

    def ptx(self, source: str, name: str, options: Sequence[str]) -> Compilation:
        """The text in front of the assembler, in place of machine code (``-arch=compute_XX``); not remembered."""
        return self._compile(source, name, options, "PTX")

    def _compile(self, source: str, name: str, options: Sequence[str], product: str = "CUBIN") -> Compilation:
        program = ctypes.c_void_p()
        created = self._library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
        if created != 0:
            return Compilation(b"", self._explain(created))
        try:
            texts = [option.encode() for option in (*self._fresh, *options)]
            code = self._library.nvrtcCompileProgram(program, len(texts), (ctypes.c_char_p * len(texts))(*texts))
            log = self._fetch(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if code != 0:
                return Compilation(b"", log.strip() or self._explain(code))
            return Compilation(self._fetch(program, product), log)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _fetch(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        if getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) != 0:
            return b""
        text = ctypes.create_string_buffer(size.value)
        getattr(self._library, f"nvrtcGet{what}")(program, text)
        return text.raw

    def _explain(self, code: int) -> str:
        return str(self._library.nvrtcGetErrorString(code).decode())


def _identity(path: str) -> str:
    """What tells two libraries of the same version apart: size and time of the file, where it is given by its path."""
    try:
        about = Path(path).stat()
    except OSError:
        return path
    return f"{about.st_size} {about.st_mtime_ns}"


def _packed(result: Compilation) -> bytes:
    log = result.log.encode()
    return len(log).to_bytes(_LENGTH, "little") + log + result.cubin


def _unpacked(data: bytes) -> Compilation | None:
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    cubin = data[end:]
    return Compilation(cubin, data[_LENGTH:end].decode(errors="replace"), True) if cubin else None


def _candidates() -> Iterator[tuple[int, str]]:
    """(CUDA major version, path or name) of every library that may be there: wheels, toolkits, the system."""
    for wheel in _WHEELS:
        try:
            files = metadata.files(wheel) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if match := _LIBRARY.search(file.name):
                yield int(match[1]), str(file.locate())
    roots = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    for root in dict.fromkeys(filter(None, roots)):
        for folder in _FOLDERS:
            for path in sorted(Path(root, folder).glob("libnvrtc.so.*")):
                if match := _LIBRARY.search(path.name):
                    yield int(match[1]), str(path)
    for major in _MAJORS:
        yield major, f"libnvrtc.so.{major}"

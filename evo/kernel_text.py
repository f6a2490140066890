"""The text of a kernel's file, whatever encoding it was saved in."""

from __future__ import annotations

import re
from pathlib import Path

from genome.source.errors import SourceError

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_LEXED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(?P<open>/\*)', re.DOTALL)


def kernel_text(path: Path) -> tuple[str, str]:
    """Text of a CUDA file, and a remark on its encoding where that is not UTF-8.

    Every file is text in Latin-1. What a kernel does is ASCII; other bytes stand in comments and in strings.

    Raises:
        SourceError: If it is no text, or ends within a comment.
        OSError: If it cannot be read.
    """
    data = path.read_bytes()
    try:
        text, remark = data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text, remark = data.decode("latin-1"), f"Line {line} of {path} is not UTF-8: the file is read as Latin-1."
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    strange = _CONTROL.search(text)
    if strange:
        message = f"byte 0x{ord(strange[0]):02x} is not text"
        raise SourceError(str(path), _line(text, strange.start()), message, "give the CUDA source, not a binary")
    opened = next((match.start("open") for match in _LEXED.finditer(text) if match["open"]), None)
    if opened is not None:
        raise SourceError(str(path), _line(text, opened), "'/*' has no partner", "close the comment")
    return text, remark


def no_kernel(source: str) -> tuple[int, str]:
    """Line and words for a file in which no kernel was found; 0 where nothing looks like one."""
    for number, line in enumerate(source.splitlines(), 1):
        if "__global__" in line.partition("//")[0]:
            seen = "this __global__ function has no body, or the preprocessor leaves it out"
            return number, f"{seen}: define its macros (`-D NAME`, in a campaign `kernel: {{defines: {{NAME: 1}}}}`)"
    return 0, "holds no __global__ function"


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1

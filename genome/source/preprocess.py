"""The C preprocessor pass: macros, conditionals and includes go, line numbers and ``#pragma unroll`` stay."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from pcpp import Action, OutputDirective, Preprocessor

from genome.ir.print_tokens import Token, closing, render
from genome.source.errors import SourceError
from genome.source.expanded import own_tokens
from genome.source.lexing import Piece, lines_of, pieces

PREDEFINED: tuple[tuple[str, str], ...] = (
    ("__CUDACC__", "1"), ("__linux__", "1"), ("__CUDA_ARCH__", "800"), ("__NVCC__", "1"), ("__cplusplus", "201703L"),
    ("__CUDACC_VER_MAJOR__", "12"), ("__CUDACC_VER_MINOR__", "0"), ("CUDART_VERSION", "12000"),
)  # fmt: skip

_BITS = (8, 16, 32, 64)
_SUFFIX = {8: "", 16: "", 32: "", 64: "ll"}
_UNSIGNED = {8: "", 16: "", 32: "u", 64: "ull"}
STANDARD: tuple[tuple[str, str], ...] = (
    *((f"INT{bits}_C(x)", f"x##{_SUFFIX[bits]}".removesuffix("##")) for bits in _BITS),
    *((f"UINT{bits}_C(x)", f"x##{_UNSIGNED[bits]}".removesuffix("##")) for bits in _BITS),
    *((f"INT{bits}_MAX", f"{2 ** (bits - 1) - 1}{_SUFFIX[bits]}") for bits in _BITS),
    *((f"UINT{bits}_MAX", f"{2**bits - 1}{_UNSIGNED[bits]}") for bits in _BITS),
    ("CHAR_BIT", "8"), ("SCHAR_MAX", "127"), ("UCHAR_MAX", "255"), ("SHRT_MAX", "32767"), ("USHRT_MAX", "65535"),
    ("LONG_MAX", f"{2**63 - 1}l"), ("ULONG_MAX", f"{2**64 - 1}ul"), ("SIZE_MAX", f"{2**64 - 1}ul"),
    ("ULLONG_MAX", f"{2**64 - 1}ull"), ("CUDART_PI_F", "3.141592654f"), ("CUDART_PI", "3.1415926535897931"),
    ("_POSIX_VERSION", "200809l"), ("__const__", "const"),
    *((f"{name}(x)", "0") for name in ("__has_include", "__has_builtin", "__has_attribute", "__has_cpp_attribute")),
)  # fmt: skip
"""Macros of headers that are not there, and what a compiler answers about headers and itself."""

_MAX_INCLUDES = 100
_MAX_EXPANDED = 1_000_000  # tokens, those of macros inside macros counted again

_UNROLL_MARK = "__evo_unroll__"
# Written as a call, the argument of the pragma is macro-expanded like any other text.
_PRAGMA_UNROLL = re.compile(r'^[ \t]*#[ \t]*pragma[ \t]+unroll\b(?P<a>[^\n]*)|_Pragma\s*\(\s*"unroll(?P<b>[^"]*)"\s*\)',
                            re.MULTILINE)  # fmt: skip


@dataclass(frozen=True)
class Preprocessed:
    """What is left after preprocessing.

    Attributes:
        tokens: Tokens with the file and line that the user wrote them at.
        missing: Included files that were not found (system headers mostly); they became empty.
    """

    tokens: tuple[Token, ...]
    missing: tuple[str, ...]


def preprocess(
    source: str,
    path: str,
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> Preprocessed:
    """Expands the text. A macro in ``defines`` wins over the file's own ``#define`` of that name.

    Raises:
        SourceError: On ``#error``, an unbalanced conditional or a malformed directive.
    """
    return _preprocess(source, path, tuple(defines), tuple(include_dirs))


@lru_cache(maxsize=8)  # a kernel is asked for its entries, its template and its lines beside its body
def _preprocess(
    source: str, path: str, defines: tuple[tuple[str, str], ...], include_dirs: tuple[str, ...]
) -> Preprocessed:
    engine = _Engine(path, frozenset(name for name, _ in defines))
    for name, value in (*PREDEFINED, *STANDARD, *defines):
        engine.define(f"{name} {value}")
    engine.own_names = frozenset(name for name, _ in defines)
    for folder in (*include_dirs, str(Path(path).parent)):
        engine.add_path(folder)
    # Names in messages are those that the user gave.
    engine.rewrite_paths = [(f"^{re.escape(str(Path(path).absolute()))}$", path.replace("\\", "\\\\"))]
    engine.parse(_PRAGMA_UNROLL.sub(_unroll_call, source.removeprefix("\ufeff")), path)
    tokens = own_tokens(iter(engine.token, None))
    return Preprocessed(tuple(_pragmas(tokens)), tuple(dict.fromkeys(engine.missing)))


def _unroll_call(match: re.Match[str]) -> str:
    argument = (match["a"] if match["a"] is not None else match["b"]).strip()
    argument = re.sub(r"//.*|/\*.*?\*/", "", argument).strip()
    while argument.startswith("(") and argument.endswith(")"):
        argument = argument[1:-1].strip()
    return f"{_UNROLL_MARK}({argument})"


def _pragmas(tokens: list[Token]) -> list[Token]:
    """Turns the marks back into ``#pragma unroll N`` tokens and drops other pragmas, which mean nothing here.

    ``register`` goes as well: it never meant anything to a GPU, and C++17 has it no more.
    """
    result: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text == _UNROLL_MARK and position + 1 < len(tokens) and tokens[position + 1].text == "(":
            end = closing(tokens, position + 1)
            argument = render(tokens[position + 2 : end]).strip()
            result.append(Token(f"#pragma unroll {argument}".rstrip(), "pragma", token.space, token.line, token.file))
            position = end
        elif token.text == "_Pragma":
            position = closing(tokens, position + 1)
        elif token.text != "register":
            result.append(token)
        position += 1
    return result


class _Engine(Preprocessor):  # type: ignore[misc]
    """pcpp with missing includes made empty and errors raised."""

    def __init__(self, path: str, own_names: frozenset[str]) -> None:
        super().__init__()
        self.path_of_source = path
        self.own_names: frozenset[str] = frozenset()
        self.missing: list[str] = []
        self.expanded = 0
        self.line_directive = "#line"

    def tokenize(self, text: str) -> list[Piece]:
        return list(pieces(text, ""))

    def group_lines(self, input: str, abssource: str) -> Iterator[list[Piece]]:
        return lines_of(input, abssource)

    def expand_macros(self, tokens: list[Any], expanding_from: list[str] = []) -> list[Any]:  # noqa: B006 - as in pcpp
        result: list[Any] = super().expand_macros(tokens, expanding_from)
        self.expanded += len(result) if expanding_from else 0
        if self.expanded > _MAX_EXPANDED:
            raise SourceError(self.path_of_source, result[0].lineno, f"macro '{expanding_from[0]}' grows too large")
        return result

    def include(self, tokens: list[Any], original_line: list[Any]) -> Iterator[Any]:
        if self.include_depth > _MAX_INCLUDES:
            self.on_error(tokens[0].source, tokens[0].lineno, "#include nested too deeply")
        yield from super().include(tokens, original_line)

    def on_file_open(self, is_system_include: bool, includepath: str) -> TextIO:
        if not Path(includepath).is_file():
            raise FileNotFoundError(includepath)
        text = Path(includepath).read_text(encoding="utf-8-sig", errors="replace")
        return io.StringIO(_PRAGMA_UNROLL.sub(_unroll_call, text))

    def on_error(self, file: str, line: int, msg: str) -> None:
        raise SourceError(file or self.path_of_source, line, " ".join(msg.split()), "the preprocessor stops here")

    def on_include_not_found(self, is_malformed: bool, is_system: bool, curdir: str, includepath: str) -> str:
        self.missing.append(includepath)
        raise OutputDirective(Action.IgnoreAndRemove)

    def on_directive_handle(self, directive, toks, ifpassthru, precedingtoks):  # type: ignore[no-untyped-def]
        if directive.value == "pragma" and not toks:
            raise OutputDirective(Action.IgnoreAndRemove)
        if directive.value in ("define", "undef", "ifdef", "ifndef") and not toks:
            self.on_error(directive.source, directive.lineno, f"#{directive.value} without a name")
        if directive.value in ("if", "elif") and [token.value for token in toks] in ([], ["!"]):
            self.on_error(directive.source, directive.lineno, f"#{directive.value} without a condition")
        if directive.value in ("define", "undef") and toks and toks[0].value in self.own_names:
            raise OutputDirective(Action.IgnoreAndRemove)
        return super().on_directive_handle(directive, toks, ifpassthru, precedingtoks)

    def on_directive_unknown(self, directive, toks, ifpassthru, precedingtoks):  # type: ignore[no-untyped-def]
        if directive.value == "error":
            raise SourceError(directive.source or self.path_of_source, directive.lineno,
                              "#error " + "".join(tok.value for tok in toks).strip())  # fmt: skip
        return True

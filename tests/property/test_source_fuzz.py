"""Damaged and monstrous sources: the front end reads them or says in one error where it stops, and never hangs.

``EVO_FUZZ_EXAMPLES=20000`` makes the search longer than the few that every run affords.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genome.ir.print_errors import PrintError
from genome.ir.print_source import print_kernel
from genome.source.errors import SourceError
from genome.source.frontend import entries, parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

ROOT = Path(__file__).parents[2]
EXAMPLES = int(os.environ.get("EVO_FUZZ_EXAMPLES", "100"))
_SECONDS = 20.0
_PIECE = re.compile(r"\w+|\s+|.", re.DOTALL)
_STRANGE = [
    *"(){}[]<>,;:=+-*/%&|^!~?.#\"'\\\0\r\n", "é", "²", "#if ", "#define ", '#include "kernel.cu"\n', "#pragma unroll ",
    "//", "/*", "case ", "default", "do ", "while (", "for (", "if (", "else ", "switch (", "goto ", "return ", "asm(",
    "struct ", "template <", "operator", "__global__ ", "extern ", "typedef ", "using ", "enum ", "auto ", "float4",
    "static_cast<", "sizeof", "__evo_opaque__(7)", "__evo_unroll__", "<<<", "::", "->", "##", "0x", "1e", "[[",
]  # fmt: skip


SEEDS = [
    path.read_text()
    for pattern in ("examples/*/kernel.cu", "tests/data/kernels/*.cu", "tests/golden/source/*.cu")
    for path in sorted(ROOT.glob(pattern))
]
WORDS = sorted({piece for seed in SEEDS for piece in _PIECE.findall(seed)}) + _STRANGE


@contextmanager
def in_time(seconds: float = _SECONDS) -> Iterator[None]:
    """Fails when the processor works longer than that on what is inside."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def examine(text: str, path: str = "kernel.cu") -> list[SourceError]:
    """Reads every kernel of the text in both forms and prints it; the errors of the front end."""
    errors = []
    with in_time():
        try:
            names = entries(text, path)[:3] or ("k",)
        except SourceError as error:
            return [error]
        for name in names:
            for read in (parse_kernel, verbatim_kernel):
                try:
                    print_kernel(read(text, name, path=path), Target.CUDA)
                except SourceError as error:
                    errors.append(error)
                except PrintError:
                    pass
    return errors


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A kernel that comes with the project, with pieces lost, moved, doubled or replaced, or cut short."""
    pieces = _PIECE.findall(draw(st.sampled_from(SEEDS)))
    place = st.integers(0, len(pieces) - 1)
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(place), draw(st.integers(1, 12))
        match draw(st.sampled_from(("cut", "drop", "move", "double", "shuffle", "insert"))):
            case "cut":
                pieces = pieces[: start + 1]
            case "drop":
                del pieces[start + 1 : start + 1 + length]
            case "move":
                pieces.insert(draw(place), pieces[start % len(pieces)])
            case "double":
                pieces[start:start] = pieces[start : start + length]
            case "shuffle":
                pieces[start : start + length] = draw(st.permutations(pieces[start : start + length]))
            case "insert":
                pieces.insert(start, draw(st.sampled_from(_STRANGE)))
    return "".join(pieces)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_damaged_kernels(text: str) -> None:
    for error in examine(text):
        assert error.message and "\n" not in str(error)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_random_words_inside_a_kernel(words: list[str]) -> None:
    examine("__global__ void k(float* y, int n) {" + " ".join(words) + "}")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    examine(data.decode("utf-8", "surrogateescape"))


def inside(text: str) -> str:
    return f"__global__ void k(float* y, int n) {{ {text} }}"


MONSTERS: dict[str, Callable[[], str]] = {
    "parentheses": lambda: inside("y[0] = " + "(" * 1000 + "1" + ")" * 1000 + ";"),
    "casts that are calls": lambda: inside("y[0] = " + "float(" * 1000 + "1" + ")" * 1000 + ";"),
    "braces": lambda: inside("{" * 1000 + "y[0] = 1;" + "}" * 1000),
    "conditions": lambda: inside("if (n) " * 1000 + "y[0] = 1;"),
    "alternatives": lambda: inside("if (n) y[0] = 0;" + "else if (n == 2) y[1] = 1;" * 500),
    "loops": lambda: inside("for (int i = 0; i < n; i++) " * 300 + "y[0] = 1;"),
    "do": lambda: inside("do " * 600 + "y[0] = 1;" + "while (0);" * 600),
    "subscripts": lambda: inside("y[" * 600 + "0" + "]" * 600 + " = 1;"),
    "negations": lambda: inside("y[0] = " + "!" * 1000 + "n;"),
    "casts": lambda: inside("y[0] = " + "(int)" * 1000 + "n;"),
    "choices": lambda: inside("y[0] = " + "n ? 1 : " * 1000 + "n;"),
    "a long sum": lambda: inside("y[0] = " + " + ".join(["n"] * 3000) + ";"),
    "a chain of assignments": lambda: inside("y[0] = " * 1000 + "n;"),
    "members": lambda: inside("y[0] = n" + ".x" * 1000 + ";"),
    "comparisons like templates": lambda: inside("y[0] = a" + " < b" * 4000 + ";"),
    "ten thousand lines": lambda: inside("\n".join(f"y[{i}] = {i} + n;\n//\n// {i}\n" for i in range(2500))),
    "one line of a megabyte": lambda: inside("y[0]=1; " * 600 + " " * 1000000),
    "a very long name": lambda: inside("int " + "a" * 300000 + " = n;"),
    "a very long comment": lambda: "/*" + "*" * 200000 + "*/" + inside("y[0] = 1;"),
    "opening braces": lambda: "{" * 5000,
    "quotes": lambda: '"' * 10000 + inside(""),
    "macros that double": lambda: "#define A0 1\n" + "".join(f"#define A{i} A{i - 1}+A{i - 1}\n" for i in range(1, 22))
    + inside("y[0] = A27;"),
    "macros of themselves": lambda: "#define A B\n#define B A\n#define F(x) F(F(x))\n" + inside("y[0] = A + F(F(1));"),
    "a conditional of brackets": lambda: "#if " + "(" * 5000 + "1" + ")" * 5000 + "\n#endif\n" + inside("y[0] = 1;"),
    "a constant of brackets": lambda: "const int N = " + "(" * 5000 + "1" + ")" * 5000 + ";" + inside("y[N] = 1;"),
    "huge numbers": lambda: inside("int a[1 << 40] = {0}; y[(1 << 30) << 30] = a[" + "9" * 5000 + "];"),
    "a comment without end": lambda: inside("y[0] = 1; /* never"),
    "a string without end": lambda: inside('printf("never);'),
    "zero bytes": lambda: "\0" + inside("y[0] = \0 1;"),
    "a byte order mark": lambda: "\ufeff" + inside("y[0] = 1;"),
    "carriage returns": lambda: inside("\n y[0] = 1; \\\n y[1] = 2; // end\n").replace("\n", "\r\n"),
    "names in the way": lambda: inside("__evo_opaque__(99);"),
    "a case at the end": lambda: inside("case"),
    "half an include": lambda: "#include <a\n" + inside(""),
    "half a define": lambda: "#define\n" + inside(""),
    "half a condition": lambda: "#ifdef\n#endif\n#ifndef\n#endif\n#undef\n" + inside(""),
    "half of every directive": lambda: "".join(f"#{word}\n" for word in ("pragma", "include", "line", "error", "if"))
    + inside(""),
    "bare directives": lambda: "#pragma\n#include\n#line\n#\n#define E\n#include E\n" + inside("y[0] = 1;"),
    "bare conditions": lambda: "#if\n#endif\n" + inside("y[0] = 1;"),
    "half a negation": lambda: "#if !\n#endif\n" + inside("y[0] = 1;"),
    "half a template": lambda: "template <typename T>",
    "division by zero": lambda: "#if 1 / 0\n#endif\n" + inside("y[1 / 0] = 1;"),
}  # fmt: skip


@pytest.mark.parametrize("name", MONSTERS)
def test_monsters(name: str) -> None:
    for error in examine(MONSTERS[name]()):
        assert error.message and "\n" not in str(error)


@pytest.mark.parametrize("text, readable", [
    ('#include "self.h"\n', False), ('#include "there.h"\n', False), ('#include "bytes.h"\n', True),
    ('#include "."\n', True), ('#include "/dev/null"\n', True), ('#define H "self.h"\n#include H\n', False),
])  # fmt: skip
def test_includes_that_lead_nowhere(tmp_path: Path, text: str, readable: bool) -> None:
    (tmp_path / "self.h").write_text('#include "self.h"\nint a;\n')
    (tmp_path / "there.h").write_text('#include "back.h"\n')
    (tmp_path / "back.h").write_text('#include "there.h"\n')
    (tmp_path / "bytes.h").write_bytes(b"// caf\xe9 \xff\n")
    errors = examine(text + inside("y[0] = 1;"), str(tmp_path / "kernel.cu"))
    assert bool(errors) != readable
    assert all(error.line == 1 and error.path.endswith(".h") for error in errors)


def test_an_error_on_nesting_names_the_line() -> None:
    text = "\n\n" + inside("\n\ny[0] = " + "float(" * 1000 + "1" + ")" * 1000 + ";")
    error = examine(text)[0]
    assert (error.line, error.message) == (5, "nested too deeply")

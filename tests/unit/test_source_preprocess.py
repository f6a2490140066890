"""What the preprocessor leaves of a file: tokens, their lines, pragmas, and macros that no header brings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genome.ir.print_tokens import tokenize
from genome.ir.stmt import Opaque, flatten
from genome.source.frontend import parse_kernel
from genome.source.preprocess import preprocess


def texts(source: str, path: str = "kernel.cu", **options: object) -> list[str]:
    return [token.text for token in preprocess(source, path, **options).tokens]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "a ^= b <<= 1; c >>= 2;",
        "k<<<grid, block>>>(1.f, .5f, 2.e-3f, 0x1p-3, 10ull, 1'000'000, 3.0L);",
        "p->q.r = s::t(x ? y : z) && !w || ~v;",
        "f(\"a \\\" b\", 'c', '\\n');",
        "x = a+++b - --c; y = d... ;",
        "int n = 0x1e+3;",
    ],
)
def test_tokens_are_those_of_the_text(line: str) -> None:
    assert texts(line) == [token.text for token in tokenize(line)]


def test_adjacent_signs_of_a_macro_stay_two() -> None:
    assert texts("#define NEG -1\nx = -NEG;") == ["x", "=", "-", "-", "1", ";"]


def test_lines_and_files_are_those_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("\n\nint inside;\n")
    source = '#define TWICE(x) x +\\\n  x\nint first;\n#include "part.h"\n\nint last = TWICE(\n  first);\n'
    found = preprocess(source, str(tmp_path / "main.cu")).tokens
    places = {token.text: (Path(token.file).name, token.line) for token in found if token.kind == "word"}
    assert places["inside"] == ("part.h", 3)
    assert places["last"] == ("main.cu", 6)
    assert next(token.line for token in found if token.text == "first") == 3


def test_unroll_pragmas_stay_in_included_files_too(tmp_path: Path) -> None:
    (tmp_path / "loop.cuh").write_text("#define N 4\n#pragma unroll N\nfor (;;) ;\n#pragma omp parallel\n")
    source = '#include "loop.cuh"\n#pragma unroll\nfor (;;) ;\n_Pragma("unroll 2") for (;;) ;\n_Pragma("nv_x") f();\n'
    found = texts(source, str(tmp_path / "main.cu"))
    assert [text for text in found if text.startswith("#")] == [
        "#pragma unroll 4",
        "#pragma unroll",
        "#pragma unroll 2",
    ]
    assert found[-4:] == ["f", "(", ")", ";"] and "_Pragma" not in found


def test_what_a_compiler_brings_itself() -> None:
    assert texts("#if defined(__has_include) && __has_include(<nvml.h>)\nyes\n#else\nno\n#endif") == ["no"]
    assert texts("x = UINT8_C(9) + ULLONG_MAX;") == ["x", "=", "9", "+", "18446744073709551615ull", ";"]
    assert texts("#if ULLONG_MAX == 18446744073709551615ull && 0x10UL == 16\nyes\n#endif") == ["yes"]
    assert texts("x = UINT64_C(5) + INT32_C(6);") == ["x", "=", "5ull", "+", "6", ";"]
    assert texts("\ufeff#ifdef A\n#endif\nint register r;") == ["int", "r", ";"]


def test_signs_may_be_spelled_out_in_conditions_and_in_kernels() -> None:
    source = """\
#if not defined FOO and (1 or BAR) and (5 bitand 4) not_eq 0
__global__ void k(int* a, int n) {
  int i = threadIdx.x;
  if (not (i >= n) and (i xor 1) not_eq 0 or compl i == 0) a[i] and_eq n bitor 1;
}
#endif
"""
    kernel, plain = (parse_kernel(text, "k") for text in (source, _in_signs(source)))
    assert kernel.body == plain.body and not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))


def _in_signs(text: str) -> str:
    signs = {"and_eq": "&=", "not_eq": "!=", "bitand": "&", "bitor": "|", "and": "&&", "or": "||", "not": "!",
             "xor": "^", "compl": "~"}  # fmt: skip
    return re.sub(rf"\b(?:{'|'.join(signs)})\b", lambda match: signs[match[0]], text)

"""Template arguments that a file tells by its own launches, and those that are guessed."""

from __future__ import annotations

import pytest

from genome.source.template_guess import guess_arguments
from genome.source.verbatim import verbatim_kernel

HEAD = "template <typename T, int BLOCK>\n__global__ void k(T* y) { y[threadIdx.x] = BLOCK; }\n"


@pytest.mark.parametrize(
    ("rest", "arguments"),
    [
        ("void run(float* y) { k<float, 64><<<1, 64>>>(y); }", ("float", "64")),
        ("template __global__ void k<double, 32>(double*);", ("double", "32")),
        ("#define B 16\nstruct Cell { int a; };\nvoid run(Cell* y) { k<Cell, B><<<1, B>>>(y); }", ("Cell", "16")),
        (
            "constexpr int WIDE = 96;\nvoid run(int* y) { k<unsigned int, WIDE><<<1, 1>>>(y); }",
            ("unsigned int", "WIDE"),
        ),
    ],
)
def test_arguments_of_a_launch(rest: str, arguments: tuple[str, ...]) -> None:
    found = guess_arguments(HEAD + rest, "k")
    assert (found.arguments, found.unsure) == (arguments, ())


@pytest.mark.parametrize(
    "rest",
    [
        "template <typename U> void run(U* y) { k<U, 64><<<1, 64>>>(y); }",
        "void run(float* y, int n) { if (k < n) y[0] = n > 3; }",
    ],
)
def test_arguments_of_a_template_around_the_launch_are_none(rest: str) -> None:
    found = guess_arguments(HEAD + rest, "k")
    assert (found.arguments, found.unsure) == (("float", "128"), ("T", "BLOCK"))


def test_guesses_follow_names_and_defaults() -> None:
    source = (
        "template <typename V, typename IndexT, bool F, int R, int NTHREADS, int Q = 3>\n__global__ void k(V* y) {}"
    )
    found = guess_arguments(source, "k")
    assert found.arguments == ("float", "int", "true", "4", "128", "3")
    assert found.unsure == ("V", "IndexT", "F", "R", "NTHREADS")
    assert guess_arguments("__global__ void k(int* y) {}", "k").arguments == ()


def test_an_enumeration_gives_its_first_value() -> None:
    source = "enum class Mode { NEAR = 1, FAR };\ntemplate <Mode M>\n__global__ void k(int* y) { y[0] = (int)M; }"
    assert guess_arguments(source, "k").arguments == ("Mode::NEAR",)


def test_an_argument_reaches_pragmas() -> None:
    source = "template <int N>\n__global__ void k(int* y) {\n#pragma unroll N\nfor (int i = 0; i < 9; i++) y[i] = N;\n}"
    assert "#pragma unroll 3\n" in verbatim_kernel(source, "k", template_args=("3",)).verbatim

"""What the front end says about files that it cannot use, and what it knows of a kernel without parsing its body."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.ir.kernel import Param
from genome.source.frontend import SourceError, entries, parse_kernel
from genome.source.signature import signature


def failure(source: str, entry: str = "k", **options: object) -> SourceError:
    with pytest.raises(SourceError) as caught:
        parse_kernel(source, entry, path="my/kernel.cu", **options)  # type: ignore[arg-type]
    return caught.value


def test_missing_kernel_names_those_that_exist() -> None:
    error = failure("__global__ void one(int* a) {}\n__global__ void two(int* a) {}\n", "three")
    assert str(error) == "my/kernel.cu: kernel 'three' not found (its kernels are: one, two)"


def test_file_without_kernels() -> None:
    assert "no __global__ function" in str(failure("int main() { return 0; }"))


def test_unparsable_kernel_gives_line_and_construct() -> None:
    head = "#include <a.h>\n#define X 1\n\n__global__ void k(float* y)\n{\n    y[0] = X;\n"
    error = failure(head + "    y[1] = 2.0f +;\n}\n")
    assert (error.path, error.line, error.message) == ("my/kernel.cu", 7, "cannot parse ';'")
    assert error.hint
    assert str(failure(head + "    y[1 = 2.0f;\n}\n")) == "my/kernel.cu:7: '[' has no partner (close the bracket)"


def test_error_directive_and_unbalanced_conditional() -> None:
    assert "#error needs sm_99" in str(failure("#error needs sm_99\n__global__ void k(int* a) {}"))
    assert failure("\n#if 1\n__global__ void k(int* a) {}\n").path == "my/kernel.cu"


def test_line_numbers_are_those_of_the_included_file(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("\n\n__global__ void k(float* y) {\n    y[0] = ;\n    if;\n}\n")
    with pytest.raises(SourceError) as caught:
        parse_kernel('#include "part.h"\n', "k", path=str(tmp_path / "main.cu"))
    assert caught.value.path.endswith("part.h")
    assert caught.value.line in (4, 5)


def test_includes_are_found_beside_the_file_and_in_the_given_folders(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#pragma once\n#define SIZE 7\n")
    (tmp_path / "near.h").write_text('#include "size.h"\n__device__ int near(int a) { return a + SIZE; }\n')
    source = (
        '#include <vector>\n#include "near.h"\n#include <size.h>\n__global__ void k(int* y) { y[0] = near(SIZE); }\n'
    )
    found = parse_kernel(source, "k", path=str(tmp_path / "main.cu"), include_dirs=(str(tmp_path / "inc"),))
    assert "return a + 7;" in found.prelude


def test_paths_in_messages_are_those_that_the_user_gave(tmp_path: Path) -> None:
    path = str(tmp_path / "kernel.cu")
    with pytest.raises(SourceError) as caught:
        parse_kernel("__global__ void k(float* y) {\n  y[0] = ;\n}", "k", path=path)
    assert str(caught.value).startswith(f"{path}:2: cannot parse ';'")


def test_template_arguments_that_do_not_fit() -> None:
    source = "template <typename T, int N>\n__global__ void k(T* y) { y[0] = N; }"
    assert "needs an argument for 'N'" in str(failure(source, template_args=("float",)))
    assert "takes 2 arguments (T, N)" in str(failure(source, template_args=("float", "1", "2")))
    assert "is not a template" in str(failure("__global__ void k(int* y) {}", template_args=("float",)))


def test_parameter_that_no_launch_can_pass() -> None:
    assert "parameter 'float& y' cannot be passed" in str(failure("__global__ void k(float& y) { y = 1; }"))


def test_error_survives_pickling() -> None:
    import pickle

    error = SourceError("a.cu", 3, "what", "how")
    again = pickle.loads(pickle.dumps(error))  # a worker process sends it back
    assert (str(again), again.line) == ("a.cu:3: what (how)", 3)


def test_signature_does_not_need_the_body() -> None:
    source = """
        struct Params { int a; };
        template <typename T> __global__ __launch_bounds__(256)
        void k(const T* __restrict__ x, T *const y, unsigned n, float const * z, double w[], Params p, int64_t big = 3,
               unsigned char* const __restrict__ c, volatile int* v, float** table) {
            this ? is not C at all;
        }"""
    found = signature(source, "k", "k.cu", template_args=("float",))
    assert found == (
        Param("x", "float", True, True, True),
        Param("y", "float", True),
        Param("n", "unsigned int"),
        Param("z", "float", True, True),
        Param("w", "double", True),
        Param("p", "Params"),
        Param("big", "long long"),
        Param("c", "unsigned char", True, False, True),
        Param("v", "volatile int", True),
        Param("table", "float*", True),
    )


def test_entries_in_file_order() -> None:
    source = """
        __global__ void declared(int*);
        namespace a { template <class T> __global__ void b(T* x) {} }
        extern "C" { __global__ void c(int* x) {} }
        #if 0
        __global__ void hidden(int* x) {}
        #endif
        static __global__ __launch_bounds__(32) void d() {}
        void host() { c<<<1, 2>>>(nullptr); }"""
    assert entries(source, "k.cu") == ("b", "c", "d")

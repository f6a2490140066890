"""Each rewrite of the normaliser on the smallest kernel that shows it."""

from __future__ import annotations

import pytest

from genome.analysis.effects import holds_barrier
from genome.ir.expr import Var
from genome.ir.kernel import Kernel
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_stmt import StmtPrinter
from genome.ir.stmt import Barrier, Decl, ExprStmt, If, Loop, Opaque, Repeat, Space, flatten, written_names
from genome.source.frontend import parse_kernel
from genome.variant import Target

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def kernel(body: str, params: str = "const float* x, float* y, int n", before: str = "", **options: object) -> Kernel:
    return parse_kernel(f"{before}\n__global__ void k({params}) {{\n{body}\n}}\n", "k", **options)  # type: ignore[arg-type]


def text(source: Kernel) -> str:
    printer = StmtPrinter(ExprPrinter(Target.CUDA), lambda array: "float", "wide")
    return "\n".join(printer.body(source.body, 0))


def lines(source: Kernel) -> list[str]:
    return [line.strip() for line in text(source).splitlines()]


def bounds(source: Kernel) -> list[tuple[str, str, str, str]]:
    show = ExprPrinter(Target.CUDA)
    return [(axis.name, axis.dim, "" if axis.lower is None else show.text(axis.lower),
             "" if axis.upper is None else show.text(axis.upper)) for axis in source.axes]  # fmt: skip


@pytest.mark.parametrize("declaration", [
    "int i = blockIdx.x * blockDim.x + threadIdx.x;",
    "int i = threadIdx.x + blockDim.x * blockIdx.x;",
    "const int i = (blockIdx.x * blockDim.x) + threadIdx.x;",
    "int i = int(blockIdx.x) * int(blockDim.x) + (int)threadIdx.x;",
    "const int bx = blockIdx.x; const int i = bx * blockDim.x + threadIdx.x;",
    "int t = threadIdx.x, b = blockIdx.x; int i; i = t + b * blockDim.x;",
    "int i = __DIMENSION__;",
    "auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);",
])  # fmt: skip
def test_axis_in_every_spelling(declaration: str) -> None:
    macro = "#define __DIMENSION__ (blockIdx.x * blockDim.x + threadIdx.x)"
    found = kernel(f"{declaration} if (i < n) y[i] = x[i];", before=macro)
    assert bounds(found) == [("i", "x", "", "n")]
    assert found.axes[0].ctype == "int"
    assert text(found) == "y[i] = x[i];"


@pytest.mark.parametrize("ctype, expected", [
    ("unsigned int", "unsigned int"), ("unsigned", "unsigned int"), ("size_t", "size_t"), ("uint32_t", "unsigned int"),
    ("long long", "long long"), ("int64_t", "long long"),
])  # fmt: skip
def test_axis_keeps_its_declared_type(ctype: str, expected: str) -> None:
    found = kernel(f"{ctype} i = ({ctype})blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];")
    assert found.axes[0].ctype == expected


def test_index_that_is_never_declared_gets_a_variable() -> None:
    found = kernel(
        "if (blockIdx.x * blockDim.x + threadIdx.x < n) y[threadIdx.x + blockIdx.x * blockDim.x + 1] = 0.0f;"
    )
    assert bounds(found) == [("global_x", "x", "", "n")]
    assert text(found) == "y[global_x + 1] = 0.0f;"


def test_axes_of_three_dimensions_in_source_order() -> None:
    found = kernel("""int z = blockIdx.z * blockDim.z + threadIdx.z; int x_ = blockIdx.x * blockDim.x + threadIdx.x;
                      int y_ = blockIdx.y * blockDim.y + threadIdx.y;
                      if (x_ < n && y_ < n && z < 4) y[(z * n + y_) * n + x_] = 1.0f;""")
    assert bounds(found) == [("z", "z", "", "4"), ("x_", "x", "", "n"), ("y_", "y", "", "n")]


@pytest.mark.parametrize("body", [
    "int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i];",
    f"{INDEX} if (threadIdx.x == 0 && i < n) y[i] = x[i];",
    f"{INDEX} for (; i < n; i += blockDim.x * gridDim.x) y[i] = x[i];",
    "int r = blockIdx.x; for (int j = threadIdx.x; j < n; j += blockDim.x) y[r * n + j] = x[r * n + j];",
    "int i = blockIdx.y * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];",
])  # fmt: skip
def test_geometry_is_locked_when_an_index_stays_unexplained(body: str) -> None:
    found = kernel(body)
    assert found.axes == ()
    assert "threadIdx" in text(found)


def test_early_return_becomes_the_guard() -> None:
    found = kernel(f"{INDEX} if (i >= n) return; y[i] = x[i]; return;")
    assert bounds(found) == [("i", "x", "", "n")]
    assert text(found) == "y[i] = x[i];"


def test_return_in_the_middle_guards_only_what_follows() -> None:
    found = kernel(f"{INDEX} if (i < n) {{ y[i] = 0.0f; if (x[i] > 1.0f) return; y[i] = x[i]; }}")
    assert bounds(found) == [("i", "x", "", "n")]
    assert lines(found) == ["y[i] = 0.0f;", "if (!(x[i] > 1.0f)) {", "y[i] = x[i];", "}"]


def test_text_that_may_leave_the_kernel_is_as_good_as_a_barrier() -> None:
    found = kernel(f"{INDEX} while (n > 1) {{ asm(); y[0] = x[0]; return; }}}}")
    (stmt,) = found.body
    assert isinstance(stmt, Opaque)
    assert stmt.barrier
    assert {"x", "y", "n"} <= set(stmt.reads)
    assert stmt.writes == ("y",)


@pytest.mark.parametrize("condition, expected", [
    ("i < n", ("", "n")), ("n > i", ("", "n")), ("i <= n", ("", "n + 1")), ("n >= i", ("", "n + 1")),
    ("i <= n - 1", ("", "n")), ("i <= n - 3", ("", "n - 2")), ("i > 0 && i < n - 1", ("1", "n - 1")),
    ("i >= 2 && n * 4 > i", ("2", "n * 4")), ("!(i >= n)", ("", "n")), ("!(i < 1 || i >= n)", ("1", "n")),
    ("i + 1 < n", ("", "n - 1")), ("i - 2 >= 0", ("2", "")), ("(int)i < n", ("", "n")), ("i + 2 <= n", ("", "n - 1")),
])  # fmt: skip
def test_guard_becomes_bounds(condition: str, expected: tuple[str, str]) -> None:
    found = kernel(f"{INDEX} if ({condition}) y[i] = x[i];")
    assert bounds(found) == [("i", "x", *expected)]
    assert text(found) == "y[i] = x[i];"


def test_nested_guards_and_declarations_in_front_are_joined() -> None:
    found = kernel(f"""{INDEX} int j = blockIdx.y * blockDim.y + threadIdx.y; float s = 0.0f; bool in = i < n;
                       if (in) {{ if (j < n) {{ s += x[i]; y[j * n + i] = s; }} }}""")
    assert bounds(found) == [("i", "x", "", "n"), ("j", "y", "", "n")]
    assert lines(found) == ["float s = 0.0f;", "s += x[i];", "y[j * n + i] = s;"]


def test_conditions_that_bound_no_axis_stay() -> None:
    found = kernel(f"{INDEX} if (i < n && x[i] > 0.0f && i % 2 == 0) y[i] = 1.0f;")
    assert bounds(found) == [("i", "x", "", "n")]
    assert lines(found) == ["if (x[i] > 0.0f && i % 2 == 0) {", "y[i] = 1.0f;", "}"]


@pytest.mark.parametrize("body", [
    f"{INDEX} if (i < n) y[i] = x[i]; else y[0] = 1.0f;",
    f"{INDEX} if (i < n) y[i] = x[i]; y[n + i] = 2.0f;",
    f"{INDEX} if (x[0] > 0) n = n - 1; if (i < n) y[i] = x[i];",
    f"{INDEX} int m = (int)x[0]; if (i < m) y[i] = x[i];",
])  # fmt: skip
def test_guards_that_may_not_be_lifted(body: str) -> None:
    assert kernel(body).axes[0].upper is None


def test_float_comparisons_are_not_turned_round() -> None:
    found = kernel(f"{INDEX} if (i >= n) return; if (x[i] <= 0.0f) return; y[i] = 1.0f;")
    assert lines(found)[0] == "if (!(x[i] <= 0.0f)) {"


def test_index_arithmetic_goes_to_its_uses_and_values_stay() -> None:
    found = kernel(f"{INDEX} int row = i / 4; int base = row * n; float v = x[base]; if (i < n) y[base + i] = v;")
    assert lines(found) == ["float v = x[i / 4 * n];", "y[i / 4 * n + i] = v;"]


def test_conversions_survive_substitution() -> None:
    found = kernel(f"{INDEX} long long wide = i; short small = i; if (i < n) y[wide * n + small] = 0.0f;")
    assert text(found) == "y[(long long)i * n + (short)i] = 0.0f;"


def test_a_local_that_changes_is_not_substituted() -> None:
    found = kernel(f"{INDEX} int at = i * 2; int other = at + 1; if (i > 3) at += 3; if (i < n) y[at] = x[other];")
    assert lines(found)[:2] == ["int at = i * 2;", "int other = at + 1;"]


def test_values_read_from_memory_are_not_moved() -> None:
    found = kernel(f"{INDEX} int at = idx[i]; idx[i] = 0; if (i < n) y[at] = 1.0f;", "int* idx, float* y, int n")
    assert lines(found)[0] == "int at = idx[i];"


@pytest.mark.parametrize("pointer, expected", [
    ("const float* row = x + i * n;", "x[i * n + 1]"), ("const float* row = &x[i * n];", "x[i * n + 1]"),
    ("const float* p = x + i; const float* row = p + 2;", "x[i + 2 + 1]"),
    ("const float* row = 3 + x;", "x[3 + 1]"), ("const float* row = x - i;", "x[-i + 1]"),
])  # fmt: skip
def test_pointers_into_parameters(pointer: str, expected: str) -> None:
    found = kernel(f"{INDEX} {pointer} if (i < n) y[i] = *(row + 1);")
    assert lines(found) == [f"y[i] = {expected};"]


def test_pointer_offset_read_from_memory_gets_a_variable() -> None:
    found = kernel(f"{INDEX} const float* row = x + ptr[i]; y[i] = row[2];", "const float* x, float* y, const int* ptr")
    assert lines(found) == ["const int row_offset = ptr[i];", "y[i] = x[row_offset + 2];"]


def test_what_touches_a_moving_pointer_is_opaque_and_names_the_array_behind_it() -> None:
    found = kernel(f"{INDEX} float* p = y + i; for (int j = 0; j < n; j++) {{ *p = x[j]; p = f(p); }} y[0] = *p;")
    declaration, loop, use = found.body
    assert isinstance(declaration, Opaque)
    assert declaration.declares == ("p",)
    assert isinstance(loop, Loop)
    store, step = loop.body
    assert isinstance(store, Opaque)
    assert {"p", "y"} <= set(store.writes)
    assert isinstance(step, Opaque)
    assert isinstance(use, Opaque)
    assert {"p", "y"} <= set(use.reads)


def test_references_and_closures_stand_for_what_they_reach() -> None:
    found = kernel(
        f"{INDEX} float v = 1.0f; float& r = y[i]; auto f = [&](float q) {{ v = q; }}; r = 2.0f; f(3.0f); y[i] = v;"
    )
    opaque = [stmt for stmt in found.body if isinstance(stmt, Opaque)]
    through_reference = next(stmt for stmt in opaque if stmt.text.startswith("r ="))
    assert {"r", "y"} <= set(through_reference.writes)
    call = next(stmt for stmt in opaque if stmt.text.startswith("f("))
    assert "v" in call.writes


def test_pointer_used_by_opaque_text_as_well() -> None:
    found = kernel(
        f"{INDEX} float* row = y + i * n; row[0] = 1.0f; int k = 1; while (k < n) {{ row[k] = row[k - 1]; k *= 3; asm("
        "); }}"
    )
    assert "y[i * n] = 1.0f;" in lines(found)
    loop = next(stmt for stmt in found.body if isinstance(stmt, Opaque) and "while" in stmt.text)
    assert {"row", "y"} <= set(loop.writes)
    assert "float* row = y + i * n;" in lines(found)


def test_pointers_that_move_in_a_straight_line_are_followed() -> None:
    found = kernel(f"""{INDEX} y += i; *y = x[i]; y = y + 2; float* p; p = &y[1];
        for (int j = 0; j < 4; j++) p[j] = y[0];""")
    assert lines(found)[0] == "y[i] = x[i];"
    assert "y[i + 2 + 1 + j] = y[i + 2];" in lines(found)


@pytest.mark.parametrize("moves, last", [
    ("if (n > 2) y += i; *y = x[i];", "y[y_at] = x[i];"),
    ("for (int j = 0; j < n; j++) y += j; y[2] = x[i];", "y[y_at + 2] = x[i];"),
    ("for (const float* p = x; p < x + n; p++) { y[i] += *p; } y[0] = 1;", "y[0] = 1;"),
    ("float* q; if (n > 2) q = y + i; else q = y; q[i] = 2.0f;", "y[q_at + i] = 2.0f;"),
])  # fmt: skip
def test_pointers_that_move_are_offsets_in_their_array(moves: str, last: str) -> None:
    found = kernel(f"{INDEX} {moves}")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(found.body))
    assert lines(found)[-1] == last


@pytest.mark.parametrize("moves", [
    "y += i; *y = x[i]; y = table(n); *y = 0;",
    "float* q = y + 1; y = (float*)x; y[0] = q[0];",
])  # fmt: skip
def test_pointers_that_move_otherwise_stay_text(moves: str) -> None:
    found = kernel(f"{INDEX} {moves}", before="__device__ float* table(int n);")
    assert any(isinstance(stmt, Opaque) and "y" in stmt.writes for stmt in flatten(found.body))
    assert not any("y_2" in line for line in lines(found))


@pytest.mark.parametrize("head, expected", [
    ("int j = 0; j < n; j++", ("0", "n", 1)), ("int j = 2; j <= n; ++j", ("2", "n + 1", 1)),
    ("int j = 0; n > j; j += 4", ("0", "n", 4)), ("unsigned j = 0; j < 8u; j = j + 2", ("0", "8u", 2)),
    ("int j = i; j < n * 2; j = 1 + j", ("i", "n * 2", 1)), ("int j = 0; j <= n - 1; j++", ("0", "n", 1)),
])  # fmt: skip
def test_counted_loops(head: str, expected: tuple[str, str, int]) -> None:
    found = kernel(f"{INDEX} for ({head}) y[j] += 1.0f;")
    (loop,) = found.body
    assert isinstance(loop, Loop)
    show = ExprPrinter(Target.CUDA)
    assert (show.text(loop.lower), show.text(loop.upper), loop.step) == expected


@pytest.mark.parametrize("loop", [
    "for (int j = 0; j < n; j++) { if (y[j] > 0) break; y[j] = 1; }",
    "for (int j = 0; j < n; j++) { y[j] = 1; j++; }",
    "for (int j = 0; j < n; j++) { n--; }",
    "for (int j = n; j > 0; j /= 3) y[j] = 1;",
    "for (int j = 0, q = 1; j < n; j++) y[j] = q;",
    "for (int j = 0; j < n && y[j] > 0; j++) y[j] = 1;",
    "for (int j = 0; j < n; j += j) y[j] = 1;",
    "int j = 0; while (j < n) { y[j] = 1; j++; j++; }",
    "int j = 0; do { y[j] = 1; j++; } while (j < n);",
])  # fmt: skip
def test_other_loops_are_not_counted(loop: str) -> None:
    found = kernel(f"{INDEX} if (i < n) {{ {loop} }}")
    assert any(isinstance(stmt, Repeat) for stmt in flatten(found.body))
    assert not any(isinstance(stmt, Loop | Opaque) for stmt in flatten(found.body))


def test_loop_variable_declared_outside() -> None:
    found = kernel(f"{INDEX} int j; for (j = 0; j < 4; j++) y[j] = 0; for (j = 1; j < 4; j++) y[j] = 1;")
    assert [stmt.var for stmt in found.body if isinstance(stmt, Loop)] == ["j", "j_2"]
    kept = kernel(f"{INDEX} int j; for (j = 0; j < 4; j++) y[j] = 0; y[j] = 1;")
    assert "y[4] = 1;" in lines(kept)


def test_continue_becomes_a_condition() -> None:
    found = kernel(f"{INDEX} for (int j = 0; j < n; j++) {{ if (j == i) continue; y[j] = 1.0f; }}")
    (loop,) = found.body
    assert isinstance(loop, Loop)
    assert isinstance(loop.body[0], If)


@pytest.mark.parametrize("pragma, expected", [
    ("#pragma unroll", 0), ("#pragma unroll 4", 4), ("#pragma unroll (U)", 2), ("#pragma unroll U  // why", 2),
    ("", None), ("#pragma nounroll", None), ('_Pragma("unroll 8")', 8),
])  # fmt: skip
def test_unroll_pragma_goes_to_its_loop(pragma: str, expected: int | None) -> None:
    found = kernel(f"{INDEX}\n{pragma}\nfor (int j = 0; j < 4; j++) y[j] = 1;\nfor (int j = 0; j < 4; j++) y[j] = 2;",
                   before="#define U 2")  # fmt: skip
    assert [stmt.unroll for stmt in found.body if isinstance(stmt, Loop)] == [expected, None]


def test_every_declared_name_is_unique() -> None:
    found = kernel(f"""{INDEX} float v = x[i];
        for (int j = 0; j < n; j++) {{ float v = y[j]; {{ float v = 3.0f; y[j] = v; }} y[j] += v; }}
        for (int j = 0; j < n; j++) {{ int n = 2; float x = 1.0f; y[j] += x * n; }}
        y[i] = v;""")
    declared = [stmt.name if isinstance(stmt, Decl) else stmt.var for stmt in flatten(found.body)
                if isinstance(stmt, (Decl, Loop))]  # fmt: skip
    assert len(declared) == len(set(declared))
    assert not {"x", "y", "n", "i"} & set(declared)
    assert "y[j] = v_3;" in lines(found)
    assert lines(found)[-1] == "y[i] = v;"


def test_opaque_text_uses_the_unique_names() -> None:
    found = kernel(
        f"{INDEX} {{ float v = 1.0f; y[i] = v; }} {{ float v = 2.0f; while (v > y[i]) {{ v -= y[i]; asm("
        "); }} y[i] = v; }}"
    )
    (opaque,) = [stmt for stmt in flatten(found.body) if isinstance(stmt, Opaque)]
    assert "v_2 -= y[i]" in opaque.text
    assert opaque.writes == ("v_2",)
    assert set(opaque.reads) == {"v_2", "y", "i"}


@pytest.mark.parametrize("statement, writes", [
    ("int q = 0; y[q++] = q;", {"q", "y"}),
    ("*(char*)(&y[4 * i]) = 1;", {"y"}),
    ("auto f = [=](float q) { return q; }; y[i] = f(x[i]);", {"y"}),
    ("float& r = y[i]; r = 2.0f;", {"y"}),
    ("asm volatile(\"\" ::: \"memory\");", set()),
    ("float v; elsewhere(&v, x, y); y[i] = v;", {"v", "x", "y"}),
])  # fmt: skip
def test_what_c_cannot_say_without_side_effects_is_opaque(statement: str, writes: set[str]) -> None:
    found = kernel(
        f"{INDEX} if (i < n) {{ {statement} }}", before="__device__ void helper(float* a, const float* b, float* c);"
    )
    opaque = [stmt for stmt in flatten(found.body) if isinstance(stmt, Opaque)]
    assert opaque
    assert {name for stmt in opaque for name in stmt.writes} >= writes


def test_statements_with_one_meaning_in_the_ir() -> None:
    found = kernel(
        f"{INDEX} int a, b = 2; a = 3; y[i]++; --y[a]; y[0] = y[b] = 0.0f; a++; y[a] = 1.0f, y[b] = 2.0f; ; (void)n;"
    )
    assert "y[i] += 1;" in lines(found)
    assert "y[3] -= 1;" in lines(found)
    assert lines(found)[-3:] == ["y[0] = 0.0f;", "y[3 + 1] = 1.0f;", "y[2] = 2.0f;"]


def test_shared_and_private_arrays() -> None:
    found = kernel("""__shared__ float tile[T][T + 1]; __shared__ int flag; extern __shared__ float more[];
                      float mine[2][3] = {{1, 2, 3}, {4}}; const int W = 2; float w[W * 2];
                      tile[threadIdx.y][threadIdx.x] = x[0]; __syncthreads(); y[0] = tile[0][1] + mine[1][0] + w[0];""",
                   before="constexpr int T = 1 << 4;")  # fmt: skip
    assert [(decl.name, decl.dims) for decl in found.shared] == [("tile", (16, 17)), ("flag", ()), ("more", (0,))]
    assert all(decl.space is Space.SHARED for decl in found.shared)
    private = {stmt.name: stmt.dims for stmt in found.body if isinstance(stmt, Decl) and stmt.dims}
    assert private == {"mine": (2, 3), "w": (4,)}
    assert lines(found).count("__syncthreads();") == 1
    assert "mine[1][1] = 0;" in lines(found)
    assert any(isinstance(stmt, Barrier) for stmt in found.body)


def test_atomics_loads_and_calls() -> None:
    found = kernel(f"{INDEX} if (i < n) {{ atomicAdd(&y[i], 1.0f); atomicAdd(y + i, __ldg(&x[i]) + __ldg(x)); }}")
    assert lines(found) == ["atomicAdd(&y[i], 1.0f);", "atomicAdd(&y[i], x[i] + x[0]);"]
    assert all(isinstance(stmt, ExprStmt) for stmt in found.body)


def test_barrier_hidden_in_a_helper() -> None:
    found = kernel(
        f"{INDEX} sync_all(); y[i] = 1.0f;", before='__device__ void sync_all() { asm(""); __syncthreads(); }'
    )
    assert isinstance(found.body[0], Opaque)
    assert found.body[0].barrier


def test_campaign_defines_win_over_the_file() -> None:
    body = f"{INDEX} for (int j = 0; j < TILE; j++) y[j] = 1;"
    found = kernel(body, before="#define TILE 16", defines=(("TILE", "32"),))
    (loop,) = found.body
    assert isinstance(loop, Loop)
    assert loop.trip == 32


def test_only_what_the_kernel_needs_is_in_the_prelude() -> None:
    found = kernel(f"{INDEX} Pair p = make(x[i]); y[i] = p.a + OFFSET;", before="""
        #include <missing.h>
        struct Pair { float a, b; }; struct Unused { int q; };
        static const float OFFSET = 2.0f;
        __device__ float inner(float v) { return v * v; }
        __device__ Pair make(float v) { Pair p; p.a = inner(v); p.b = 0; return p; }
        __device__ float never(float v) { return v; }
        __global__ void k2(float* y) { y[0] = never(1.0f); }
        int main() { return 0; }""")  # fmt: skip
    assert "struct Pair" in found.prelude
    assert "inner" in found.prelude
    assert "OFFSET" in found.prelude
    assert not any(name in found.prelude for name in ("Unused", "never", "k2", "main"))


def test_template_kernel() -> None:
    before = "template <typename T, int N = 3, bool B = true>"
    body = f"{INDEX} if (i < n) for (int j = 0; j < N; j++) y[i] += T(x[j]);"
    source = f"{before}\n__global__ void k(const T* x, T* y, int n) {{ {body} }}"
    found = parse_kernel(source, "k", template_args=("double", "5"))
    assert [param.ctype for param in found.params] == ["double", "double", "int"]
    (loop,) = found.body
    assert isinstance(loop, Loop)
    assert loop.trip == 5


def test_launch_bounds_are_kept() -> None:
    found = parse_kernel("__global__ void __launch_bounds__(128, 2) k(float* y) { y[0] = 1; }", "k")
    assert found.launch_bounds == "128, 2"


def test_names_of_the_axis_stay_free_in_opaque_text() -> None:
    found = kernel(f"{INDEX} if (i < n) {{ int j = i; while (j > 0) {{ y[j] = x[i]; j -= 2; asm(); }}}} }}}}")
    assert bounds(found) == [("i", "x", "", "n")]
    opaque = found.body[-1]
    assert isinstance(opaque, Opaque)
    assert "i" in opaque.reads
    assert found.body[0] == Decl("j", "int", (), Var("i"))


@pytest.mark.parametrize("call, written", [
    ("int u = i; if (n > 3) inc(u, 2.0f); y[u] = 0;", "u"),
    ("int u = i; if (n > 3) y[next(u)] = 0; y[u] = 0;", "u"),
    ("change<float>(y[i], y[i + 1]);", "y"),
    ("int u = i; from_a_missing_header(u); y[u] = 0;", "u"),
])  # fmt: skip
def test_variables_given_by_reference_are_written(call: str, written: str) -> None:
    helpers = """__device__ void inc(int& a, float b) { a += 1; }  __device__ int next(int &a) { return ++a; }
        template <typename T> __device__ void change(T& a, T& b) { T c = a; a = b; b = c; }"""
    assert written in written_names(kernel(f"{INDEX} {call}", before=helpers).body)


def test_values_given_to_helpers_are_not_written() -> None:
    found = kernel(f"{INDEX} int u = i; y[u] = square(x[u]) * __half2float(u);",
                   before="__device__ float square(const float& a) { return a * a; }")  # fmt: skip
    assert [stmt for stmt in flatten(found.body) if isinstance(stmt, Opaque)] == []


def test_barriers_of_the_group_of_a_whole_block() -> None:
    found = kernel(
        f"""{INDEX} cg::thread_block cta = cg::this_thread_block(); auto other = cg::this_thread_block();
        y[i] = 1; cg::sync(cta); y[i] = 2; other.sync(); y[i] = 3;""",
        before="namespace cg = cooperative_groups;",
    )
    assert sum(isinstance(stmt, Barrier) for stmt in found.body) == 2
    assert not any(isinstance(stmt, Opaque) for stmt in found.body)
    part = kernel(f"{INDEX} auto warp = cg::tiled_partition<32>(cg::this_thread_block()); warp.sync(); y[i] = 1;")
    assert not any(isinstance(stmt, Barrier) for stmt in part.body)
    assert "__syncwarp();" in lines(part)
    assert holds_barrier(part.body)


def test_template_lists_know_the_constants_of_the_kernel() -> None:
    found = kernel(f"{INDEX} constexpr int W = 2 * 4; y[i] = pick<W>(i) + pick<1 + W>(i);",
                   before="template <int N> __device__ float pick(int i) { return i + N; }")  # fmt: skip
    assert lines(found)[-1] == "y[i] = pick<8>(i) + pick<1 + 8>(i);"
    kept = kernel(f"{INDEX} const int w = sizeof(x); y[i] = pick<w>(i);",
                  before="template <int N> __device__ float pick(int i) { return i + N; }")  # fmt: skip
    assert lines(kept)[-2:] == ["const int w = sizeof(x);", "y[i] = pick<w>(i);"]
    assert isinstance(kept.body[-1], Opaque)
    assert "w" in kept.body[-1].reads


def test_types_of_the_kernel_stay_in_front_of_their_shared_arrays() -> None:
    found = kernel(f"{INDEX} using Store = Wide<float>; __shared__ Store::Part part; y[i] = part.a;")
    assert found.shared == ()
    printed = lines(found)
    assert printed.index("using Store = Wide<float>;") < next(n for n, line in enumerate(printed) if "Store::" in line)


def test_a_deletion_declares_nothing() -> None:
    found = kernel(f"{INDEX} delete *objects;", before="float** objects;")
    assert [stmt.declares for stmt in found.body if isinstance(stmt, Opaque)] == [()]


def test_auto_takes_the_type_of_a_pointer() -> None:
    found = kernel(f"{INDEX} auto p = y + i * n; const auto q = &x[3]; auto v = x[i]; p[2] = q[1]; p[3] = v;")
    assert lines(found)[-2:] == ["y[i * n + 2] = x[3 + 1];", "y[i * n + 3] = v;"]

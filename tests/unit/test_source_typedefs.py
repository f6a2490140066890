"""Other names of arithmetic types, as the front end sees through them."""

from __future__ import annotations

from genome.ir.expr import Cast, walk
from genome.ir.stmt import Decl, Loop, Opaque, expressions, flatten
from genome.source.frontend import parse_kernel
from genome.source.opening import open_kernel
from genome.source.typedefs import typedefs

SOURCE = """
typedef unsigned int Index;
typedef Index Count;
using Real = double;
typedef float Pair[2];
typedef float* Pointer;
typedef struct { int a; } Record;
template <typename T> using Same = T;
namespace a { typedef int Word; }
namespace b { typedef short Word; }
__global__ void k(const Real* x, Real* y, Count n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (Index j = 0; j < n; j++) y[j] = (Real)i + x[j];
    Record r;
}
"""


def test_chains_are_followed_and_doubtful_names_left_out() -> None:
    opened = open_kernel(SOURCE, "k", "k.cu", (), (), ())
    assert typedefs(opened.found) == {"Index": "unsigned int", "Count": "unsigned int", "Real": "double"}


def test_loops_and_casts_of_renamed_types_are_understood() -> None:
    kernel = parse_kernel(SOURCE, "k")
    loops = [stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)]
    assert [loop.ctype for loop in loops] == ["unsigned int"]
    casts = [node.ctype for stmt in flatten(kernel.body) for expr in expressions(stmt) for node in walk(expr)
             if isinstance(node, Cast)]  # fmt: skip
    assert casts == ["double"]
    assert [stmt.ctype for stmt in kernel.body if isinstance(stmt, Decl)] == ["Record"]
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))

"""Functions of inline PTX that rewritten CUDA kernels call, and how a kernel comes by them.

Source: "Parallel Thread Execution ISA", sections on ldmatrix (sm_75), and mma.m16n8k16, mma.m16n8k8 and cvt.rna.tf32
(sm_80).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.ir.kernel import Kernel

LOAD, LOAD_TURNED = "cuda_load_matrix", "cuda_load_matrix_turned"
MULTIPLY = {
    "half": "cuda_multiply_half", "__nv_bfloat16": "cuda_multiply_bfloat16", "float": "cuda_multiply_tf32",
}  # fmt: skip
ROUND = "cuda_round_tf32"

_DEVICE = "static __device__ __forceinline__"


def _matrix_loads(name: str, modifier: str) -> str:
    """Loads of two and of four 8 x 8 matrices: each lane names the first element of one of their rows."""
    two = (
        f"template <class T>\n{_DEVICE} void {name}(unsigned int (&to)[2], const T& first) {{\n"
        f'    asm volatile("ldmatrix.sync.aligned.m8n8.x2{modifier}.shared.b16 {{%0, %1}}, [%2];"\n'
        '                 : "=r"(to[0]), "=r"(to[1])\n'
        '                 : "r"((unsigned int)__cvta_generic_to_shared(&first)) : "memory");\n'
        "}\n"
    )
    four = (
        f"template <class T>\n{_DEVICE} void {name}(unsigned int (&to)[4], const T& first) {{\n"
        f'    asm volatile("ldmatrix.sync.aligned.m8n8.x4{modifier}.shared.b16 {{%0, %1, %2, %3}}, [%4];"\n'
        '                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])\n'
        '                 : "r"((unsigned int)__cvta_generic_to_shared(&first)) : "memory");\n'
        "}\n"
    )
    return two + four


def _multiply(name: str, kind: str, depth: int = 16) -> str:
    """A product of 16 x depth by depth x 8, added to the four elements that each lane holds of the sum."""
    return (
        f"{_DEVICE} void {name}(float& s0, float& s1, float& s2, float& s3, const unsigned int (&a)[4],\n"
        "        unsigned int b0, unsigned int b1) {\n"
        f'    asm volatile("mma.sync.aligned.m16n8k{depth}.row.col.f32.{kind}.{kind}.f32 "\n'
        '                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"\n'
        '                 : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)\n'
        '                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));\n'
        "}\n"
    )


def _rounding(name: str) -> str:
    """A float to the nearest one of 11 significant bits, as the bits that a product takes."""
    return (
        f"{_DEVICE} unsigned int {name}(float value) {{\n"
        "    unsigned int bits;\n"
        '    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));\n'
        "    return bits;\n"
        "}\n"
    )


_TEXTS: Mapping[str, str] = {
    LOAD: _matrix_loads(LOAD, ""),
    LOAD_TURNED: _matrix_loads(LOAD_TURNED, ".trans"),
    MULTIPLY["half"]: _multiply(MULTIPLY["half"], "f16"),
    MULTIPLY["__nv_bfloat16"]: _multiply(MULTIPLY["__nv_bfloat16"], "bf16"),
    MULTIPLY["float"]: _multiply(MULTIPLY["float"], "tf32", 8),
    ROUND: _rounding(ROUND),
}


def with_functions(kernel: Kernel, *names: str) -> Kernel:
    """The kernel with the functions of these names in front of it, each once."""
    missing = [_TEXTS[name] for name in dict.fromkeys(names) if _TEXTS[name] not in kernel.prelude]
    if not missing:
        return kernel
    before = kernel.prelude if not kernel.prelude or kernel.prelude.endswith("\n") else kernel.prelude + "\n"
    return replace(kernel, prelude=before + "".join(missing))

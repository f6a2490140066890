"""What a kernel looks like, as a vector of documented numbers that do not depend on any name in it."""

from __future__ import annotations

import math

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Select, children, conjuncts, names, walk
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Barrier, Decl, If, Loop, Opaque, Space, Stmt
from genome.spec import ELEMENT_BYTES, KernelSpec, Role
from knowledge.kernel_access import access_features
from knowledge.kernel_walk import Visit, own_expressions, scaled_log, visits_of

KERNEL_FEATURE_VERSION = 3

TYPE_WEIGHT = 0.25
"""What a share of an element type counts: as a whole share, two types would lie farther apart than two algorithms."""

KERNEL_FEATURES = (
    "understood",  # 1 if the front end gave an IR; else everything that needs it is 0
    "axes",  # parallel axes / 3
    "loops", "depth",  # log2(1 + sequential loops) / 4, deepest nest / 4
    "constant_trips",  # share of loops with a constant trip count
    "loads_broadcast", "loads_unit", "loads_strided", "loads_loop", "loads_indirect",  # shares of global loads by class
    "stores_broadcast", "stores_unit", "stores_strided", "stores_loop", "stores_indirect",  # the same for stores
    "loads", "stores",  # log2(1 + count) / 6
    "neighbours",  # share of loads that lie a fixed distance from another one (stencils)
    "arithmetic",  # log2(1 + operations weighted by 8 ** depth) / 16
    "intensity",  # log2(1 + arithmetic a byte of access, both weighted by depth) / 8
    "divisions", "transcendental", "conditionals", "selects", "casts",  # log2(1 + count) / 4
    "accumulations",  # log2(1 + assignments inside loops that add to, or multiply, their target) / 4
    "minmax",  # log2(1 + calls of min, max, fmin, fmax) / 4
    "barriers", "atomics", "shared_arrays", "private_arrays", "opaque",  # log2(1 + count) / 4
    "shared_bytes",  # log2(1 + static bytes) / 16
    "int", "float32", "float64", "float16", "narrow",  # share of array arguments by element type (float16: of 16 bits),
    # times TYPE_WEIGHT
    "inputs", "outputs", "inouts", "scalars",  # log2(1 + count) / 4
    "rank",  # largest rank of an array argument / 4
    "grid_locked",  # 1 if the launch gives a grid and no domain
    "one_thread_stores",  # log2(1 + stores under "if (threadIdx.x == 0)" and the like) / 4
)  # fmt: skip
"""Names of the entries, in order. Most lie in 0..1, so that a plain L2 distance weighs them alike."""

_TRANSCENDENTAL = frozenset(
    ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sincos", "sinh", "cosh",
     "tanh", "asin", "acos", "atan", "atan2", "pow", "erf", "erfc", "cbrt", "rsqrt", "sqrt", "tgamma", "lgamma")
)  # fmt: skip
_MINMAX = frozenset(("min", "max", "fmin", "fmax", "fminf", "fmaxf", "__hmin", "__hmax"))


def kernel_features(kernel: Kernel | None, spec: KernelSpec) -> tuple[float, ...]:
    """The vector that ``KERNEL_FEATURES`` names.

    Args:
        kernel: The IR, or None where the source could not be parsed: then only the arguments speak.
        spec: The campaign's description of the kernel.
    """
    values = {name: 0.0 for name in KERNEL_FEATURES}
    values.update(_argument_features(spec))
    if kernel is not None:
        visits = list(visits_of(kernel.body))
        values.update(_structure_features(kernel, visits))
        values.update(access_features(kernel, visits))
        values.update(_work_features(visits))
    return tuple(values[name] for name in KERNEL_FEATURES)


def _argument_features(spec: KernelSpec) -> dict[str, float]:
    arrays = [arg for arg in spec.args if not arg.is_scalar]
    groups = {"int": ("int32", "uint32", "int64", "uint64"), "float32": ("float32",), "float64": ("float64",),
              "float16": ("float16", "bfloat16"), "narrow": ("int8", "uint8", "int16", "uint16")}  # fmt: skip
    weight = TYPE_WEIGHT / max(1, len(arrays))
    share = {name: weight * sum(arg.dtype in dtypes for arg in arrays) for name, dtypes in groups.items()}
    roles = {"inputs": Role.IN, "outputs": Role.OUT, "inouts": Role.INOUT}
    return {
        **share,
        **{name: scaled_log(sum(arg.role is role for arg in arrays), 4) for name, role in roles.items()},
        "scalars": scaled_log(sum(arg.is_scalar for arg in spec.args), 4),
        "rank": max((len(arg.shape) for arg in arrays), default=0) / 4,
        "grid_locked": float(bool(spec.launch.grid)),
    }


def _structure_features(kernel: Kernel, visits: list[Visit]) -> dict[str, float]:
    stmts = [visit.stmt for visit in visits]
    loops = [stmt for stmt in stmts if isinstance(stmt, Loop)]
    shared = [*kernel.shared, *(stmt for stmt in stmts if isinstance(stmt, Decl) and stmt.space is Space.SHARED)]
    private = [stmt for stmt in stmts if isinstance(stmt, Decl) and stmt.dims and stmt.space is Space.PRIVATE]
    shared_bytes = sum(math.prod(decl.dims) * ELEMENT_BYTES.get(decl.ctype, 4) for decl in shared)
    guarded = [
        visit for visit in visits
        if isinstance(visit.stmt, Assign) and isinstance(visit.stmt.target, Index)
        and any(_is_one_thread(condition) for condition in visit.conditions)
    ]  # fmt: skip
    return {
        "understood": 1.0,
        "axes": len(kernel.axes) / 3,
        "loops": scaled_log(len(loops), 4),
        "depth": max((len(visit.loops) for visit in visits), default=0) / 4,
        "constant_trips": sum(loop.trip is not None for loop in loops) / max(1, len(loops)),
        "barriers": scaled_log(sum(isinstance(stmt, Barrier) for stmt in stmts), 4),
        "shared_arrays": scaled_log(len(shared), 4),
        "private_arrays": scaled_log(len(private), 4),
        "opaque": scaled_log(sum(isinstance(stmt, Opaque) for stmt in stmts), 4),
        "shared_bytes": scaled_log(shared_bytes, 16),
        "one_thread_stores": scaled_log(len(guarded), 4),
    }


def _work_features(visits: list[Visit]) -> dict[str, float]:
    nodes = [node for visit in visits for expr in own_expressions(visit.stmt) for node in walk(expr)]
    calls = [node.function for node in nodes if isinstance(node, Call)]
    sums = sum(_accumulates(visit.stmt) for visit in visits if visit.loops)
    return {
        "divisions": scaled_log(sum(isinstance(node, Binary) and node.op in "/%" for node in nodes), 4),
        "transcendental": scaled_log(sum(_plain_name(call) in _TRANSCENDENTAL for call in calls), 4),
        "minmax": scaled_log(sum(call in _MINMAX for call in calls), 4),
        "atomics": scaled_log(sum(call.startswith("atomic") for call in calls), 4),
        "conditionals": scaled_log(sum(isinstance(visit.stmt, If) for visit in visits), 4),
        "selects": scaled_log(sum(isinstance(node, Select) for node in nodes), 4),
        "casts": scaled_log(sum(isinstance(node, Cast) for node in nodes), 4),
        "accumulations": scaled_log(sums, 4),
    }


def _accumulates(stmt: Stmt) -> bool:
    """``s += x``, ``s = s + x`` or ``s = max(s, x)``."""
    if not isinstance(stmt, Assign):
        return False
    if stmt.op in ("+=", "*=", "-=", "|=", "&=", "^="):
        return True
    return isinstance(stmt.value, (Binary, Call)) and stmt.target in children(stmt.value)


def _is_one_thread(condition: Expr) -> bool:
    """``threadIdx.x == 0`` and the like."""
    for term in conjuncts(condition):
        if isinstance(term, Binary) and term.op == "==":
            parts = (term.left, term.right)
            if any(isinstance(part, Const) for part in parts) and any("hreadIdx" in name for name in names(term)):
                return True
    return False


def _plain_name(function: str) -> str:
    """``expf``, ``__expf`` and ``exp`` are the same function."""
    name = function.lstrip("_")
    return name[:-1] if name.endswith("f") and name != "erf" else name

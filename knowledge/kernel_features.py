"""What a kernel looks like, as a vector of documented numbers that do not depend on any name in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from genome.ir.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Select,
    Unary,
    Var,
    children,
    conjuncts,
    names,
    substitute,
    walk,
)
from genome.ir.kernel import Kernel
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Space,
    Stmt,
    expressions,
    writes,
    written_names,
)
from genome.spec import DTYPES, KernelSpec, Role

KERNEL_FEATURE_VERSION = 1

KERNEL_FEATURES = (
    "understood",  # 1 if the front end gave an IR; else everything that needs it is 0
    "axes",  # parallel axes / 3
    "loops", "depth",  # log2(1 + sequential loops) / 4, deepest nest / 4
    "constant_trips",  # share of loops with a constant trip count
    "loads_broadcast", "loads_unit", "loads_strided", "loads_loop", "loads_indirect",  # shares of global loads by class
    "stores_broadcast", "stores_unit", "stores_strided", "stores_loop", "stores_indirect",  # the same for stores
    "loads", "stores",  # log2(1 + count) / 6
    "neighbours",  # share of loads whose address differs from another load's by a constant (stencils)
    "arithmetic",  # log2(1 + operations weighted by 8 ** depth) / 16
    "intensity",  # log2(1 + arithmetic a byte of access, both weighted by depth) / 8
    "divisions", "transcendental", "conditionals", "selects", "casts",  # log2(1 + count) / 4
    "accumulations",  # log2(1 + assignments inside loops that add to, or multiply, their target) / 4
    "minmax",  # log2(1 + calls of min, max, fmin, fmax) / 4
    "barriers", "atomics", "shared_arrays", "private_arrays", "opaque",  # log2(1 + count) / 4
    "shared_bytes",  # log2(1 + static bytes) / 16
    "int", "float32", "float64", "float16", "narrow",  # share of array arguments by element type
    "inputs", "outputs", "inouts", "scalars",  # log2(1 + count) / 4
    "rank",  # largest rank of an array argument / 4
    "grid_locked",  # 1 if the launch gives a grid and no domain
    "one_axis_out",  # log2(1 + stores guarded by a comparison with a constant, "thread 0 writes") / 4
)  # fmt: skip
"""Names of the entries, in order. Most lie in 0..1, so that a plain L2 distance weighs them alike."""

_TRANSCENDENTAL = frozenset(
    ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sincos", "sinh", "cosh",
     "tanh", "asin", "acos", "atan", "atan2", "pow", "erf", "erfc", "cbrt", "rsqrt", "sqrt", "tgamma", "lgamma")
)  # fmt: skip
_MINMAX = frozenset(("min", "max", "fmin", "fmax", "fminf", "fmaxf"))
_ARITHMETIC = frozenset("+-*/%")
_DEPTH_WEIGHT = 8  # iterations that a loop of unknown trip count is taken to have
_BYTES = {ctype: size for ctype, size in DTYPES.values()}
_INLINE_DEPTH = 4
_LARGEST_ADDRESS = 200  # nodes; longer addresses are not looked into further
_CLASSES = ("broadcast", "unit", "strided", "loop", "indirect")


@dataclass(frozen=True)
class _Access:
    """One access to a global array: its class, element size, loops around it, and address without its constants."""

    kind: str
    bytes: int
    depth: int
    base: tuple[str, frozenset[Expr]]


@dataclass(frozen=True)
class _Visit:
    """A statement with the loops (outermost first) and conditions around it."""

    stmt: Stmt
    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]


def kernel_features(kernel: Kernel | None, spec: KernelSpec) -> tuple[float, ...]:
    """The vector that ``KERNEL_FEATURES`` names.

    Args:
        kernel: The IR, or None where the source could not be parsed: then only the arguments speak.
        spec: The campaign's description of the kernel.
    """
    values = {name: 0.0 for name in KERNEL_FEATURES}
    values.update(_argument_features(spec))
    if kernel is not None:
        visits = list(_visit(kernel.body, (), ()))
        values.update(_structure_features(kernel, visits))
        values.update(_access_features(kernel, visits))
        values.update(_work_features(visits))
    return tuple(values[name] for name in KERNEL_FEATURES)


def _argument_features(spec: KernelSpec) -> dict[str, float]:
    arrays = [arg for arg in spec.args if not arg.is_scalar]
    groups = {"int": ("int32", "uint32", "int64", "uint64"), "float32": ("float32",), "float64": ("float64",),
              "float16": ("float16",), "narrow": ("int8", "uint8", "int16", "uint16")}  # fmt: skip
    share = {name: sum(arg.dtype in dtypes for arg in arrays) / max(1, len(arrays)) for name, dtypes in groups.items()}
    roles = {"inputs": Role.IN, "outputs": Role.OUT, "inouts": Role.INOUT}
    return {
        **share,
        **{name: _log(sum(arg.role is role for arg in arrays), 4) for name, role in roles.items()},
        "scalars": _log(sum(arg.is_scalar for arg in spec.args), 4),
        "rank": max((len(arg.shape) for arg in arrays), default=0) / 4,
        "grid_locked": float(bool(spec.launch.grid)),
    }


def _structure_features(kernel: Kernel, visits: list[_Visit]) -> dict[str, float]:
    stmts = [visit.stmt for visit in visits]
    loops = [stmt for stmt in stmts if isinstance(stmt, Loop)]
    shared = [*kernel.shared, *(stmt for stmt in stmts if isinstance(stmt, Decl) and stmt.space is Space.SHARED)]
    private = [stmt for stmt in stmts if isinstance(stmt, Decl) and stmt.dims and stmt.space is Space.PRIVATE]
    shared_bytes = sum(math.prod(decl.dims) * _BYTES.get(decl.ctype, 4) for decl in shared)
    guarded = [
        visit for visit in visits
        if isinstance(visit.stmt, Assign) and isinstance(visit.stmt.target, Index)
        and any(_is_one_thread(condition) for condition in visit.conditions)
    ]  # fmt: skip
    return {
        "understood": 1.0,
        "axes": len(kernel.axes) / 3,
        "loops": _log(len(loops), 4),
        "depth": max((len(visit.loops) for visit in visits), default=0) / 4,
        "constant_trips": sum(loop.trip is not None for loop in loops) / max(1, len(loops)),
        "barriers": _log(sum(isinstance(stmt, Barrier) for stmt in stmts), 4),
        "shared_arrays": _log(len(shared), 4),
        "private_arrays": _log(len(private), 4),
        "opaque": _log(sum(isinstance(stmt, Opaque) for stmt in stmts), 4),
        "shared_bytes": _log(shared_bytes, 16),
        "one_axis_out": _log(len(guarded), 4),
    }


def _access_features(kernel: Kernel, visits: list[_Visit]) -> dict[str, float]:
    pointers = {param.name: param.ctype for param in kernel.params if param.pointer}
    fast = frozenset({axis.name for axis in kernel.axes if axis.dim == "x"} | {"threadIdx.x"})
    inlined = _single_definitions(kernel, visits)
    loads: list[_Access] = []
    stores: list[_Access] = []
    for visit in visits:
        inner = frozenset(loop.var for loop in visit.loops)
        for access, is_store in _accesses(visit.stmt):
            if access.array not in pointers:
                continue
            address = _inline(access.subscripts[-1], inlined)
            base = (access.array, frozenset(term for term in _terms(address) if not isinstance(term, Const)))
            found = _Access(_access_class(address, fast, inner), _BYTES.get(pointers[access.array], 4),
                            len(visit.loops), base)  # fmt: skip
            (stores if is_store else loads).append(found)
    bases = Counter(load.base for load in set(loads))
    near = sum(bases[load.base] > 1 for load in set(loads)) / max(1, len(set(loads)))
    moved = sum(access.bytes * _DEPTH_WEIGHT**access.depth for access in (*loads, *stores))
    work = sum(_operations(visit) for visit in visits)
    shares = {
        f"{name}_{kind}": sum(access.kind == kind for access in found) / max(1, len(found))
        for name, found in (("loads", loads), ("stores", stores)) for kind in _CLASSES
    }  # fmt: skip
    return {
        **shares, "loads": _log(len(loads), 6), "stores": _log(len(stores), 6), "neighbours": near,
        "arithmetic": _log(work, 16), "intensity": _log(work / moved if moved else 0.0, 8),
    }  # fmt: skip


def _work_features(visits: list[_Visit]) -> dict[str, float]:
    nodes = [node for visit in visits for expr in _own(visit.stmt) for node in walk(expr)]
    calls = [node.function for node in nodes if isinstance(node, Call)]
    sums = sum(_accumulates(visit.stmt) for visit in visits if visit.loops)
    return {
        "divisions": _log(sum(isinstance(node, Binary) and node.op in "/%" for node in nodes), 4),
        "transcendental": _log(sum(_plain_name(call) in _TRANSCENDENTAL for call in calls), 4),
        "minmax": _log(sum(call in _MINMAX for call in calls), 4),
        "atomics": _log(sum(call.startswith("atomic") for call in calls), 4),
        "conditionals": _log(sum(isinstance(visit.stmt, If) for visit in visits), 4),
        "selects": _log(sum(isinstance(node, Select) for node in nodes), 4),
        "casts": _log(sum(isinstance(node, Cast) for node in nodes), 4),
        "accumulations": _log(sums, 4),
    }


def _visit(body: Body, loops: tuple[Loop, ...], conditions: tuple[Expr, ...]) -> Iterator[_Visit]:
    for stmt in body:
        yield _Visit(stmt, loops, conditions)
        if isinstance(stmt, Loop):
            yield from _visit(stmt.body, (*loops, stmt), conditions)
        elif isinstance(stmt, If):
            yield from _visit(stmt.then, loops, (*conditions, stmt.condition))
            yield from _visit(stmt.orelse, loops, conditions)


def _accesses(stmt: Stmt) -> Iterator[tuple[Index, bool]]:
    """(array element, is a store) for every access of the statement itself; ``a[i] += x`` is a load and a store."""
    targets = writes(stmt)
    for target in targets:
        if isinstance(target, Index):
            yield target, True
    if isinstance(stmt, Assign) and stmt.op != "=" and isinstance(stmt.target, Index):
        yield stmt.target, False
    for expr in expressions(stmt):
        for node in walk(expr):
            if isinstance(node, Index) and node not in targets:
                yield node, False


def _access_class(address: Expr, fast: frozenset[str], loops: frozenset[str]) -> str:
    """How neighbouring threads of a warp touch memory: crude, but independent of how the address is spelt.

    ``unit``: next to each other; ``strided``: apart; ``loop``: all the same element, which moves with a loop;
    ``broadcast``: all the same element; ``indirect``: wherever a loaded value says.
    """
    if any(isinstance(node, (Index, Call)) for node in walk(address)):
        return "indirect"
    terms = _terms(address)
    used = frozenset(names(address))
    if used & fast:
        alone = any(isinstance(term, Var) and term.name in fast for term in terms)
        mixed = any(not isinstance(term, Var) and frozenset(names(term)) & fast for term in terms)
        return "unit" if alone and not mixed else "strided"
    return "loop" if used & loops else "broadcast"


def _terms(expr: Expr) -> list[Expr]:
    """Terms of a sum; signs do not matter here. A product over a sum is multiplied out by one level."""
    match expr:
        case Binary("+" | "-", left, right):
            return _terms(left) + _terms(right)
        case Cast(_, operand) | Unary("-" | "+", operand):
            return _terms(operand)
        case Binary("*", left, right) if len(_terms(left)) * len(_terms(right)) > 1:
            return [Binary("*", a, b) for a in _terms(left) for b in _terms(right)]
    return [expr]


def _single_definitions(kernel: Kernel, visits: list[_Visit]) -> dict[str, Expr]:
    """Scalars that have their initial value for ever, by name."""
    written = Counter(written_names(kernel.body))
    declared = [visit.stmt for visit in visits if isinstance(visit.stmt, Decl)]
    counts = Counter(decl.name for decl in declared)
    return {
        decl.name: decl.init for decl in (*(p for p in kernel.prologue if isinstance(p, Decl)), *declared)
        if decl.init is not None and not decl.dims and counts[decl.name] <= 1 and decl.name not in written
    }  # fmt: skip


def _inline(expr: Expr, definitions: Mapping[str, Expr]) -> Expr:
    for _ in range(_INLINE_DEPTH):
        replaced = substitute(expr, definitions)
        if replaced == expr or sum(1 for _ in walk(replaced)) > _LARGEST_ADDRESS:
            return expr
        expr = replaced
    return expr


def _operations(visit: _Visit) -> float:
    """Arithmetic of the statement itself (subscripts left out), a loop counting ``_DEPTH_WEIGHT`` times."""
    count = sum(_arithmetic(expr) for expr in _own(visit.stmt))
    count += isinstance(visit.stmt, Assign) and visit.stmt.op != "="
    return float(count * _DEPTH_WEIGHT ** len(visit.loops))


def _arithmetic(expr: Expr) -> int:
    if isinstance(expr, Index):
        return 0
    own = (isinstance(expr, Binary) and expr.op in _ARITHMETIC) or isinstance(expr, Call)
    return int(own) + sum(_arithmetic(child) for child in children(expr))


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


def _own(stmt: Stmt) -> tuple[Expr, ...]:
    """Expressions of the statement, loop bounds left out."""
    return () if isinstance(stmt, Loop) else expressions(stmt)


def _log(count: float, scale: float) -> float:
    return math.log2(1.0 + count) / scale

"""What a variant's loop IR tells of atomics and divergence at a size: estimates for the model of its bottleneck.

Trips are those of the first thread, conditions on data count as if half of the threads met them. A bound that only the
last warp may pass does not count as a place where threads part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from evaluator.profile import Strain
from evo.inspection.words import expression
from genome.analysis.access import MemorySpace
from genome.analysis.count import evaluate
from genome.analysis.facts import Uniformity
from genome.analysis.scope import Scope, make_scope
from genome.analysis.uniformity import Levels
from genome.ir.expr import Binary, Call, Expr, Index, Unary, Var, walk
from genome.ir.kernel import Kernel
from genome.ir.print_functions import ATOMICS
from genome.ir.stmt import Body, If, Loop, Opaque, Repeat, Stmt, expressions
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Variant

_UNKNOWN_TRIPS = 8.0
_HALF = 0.5
_WARP = 32
_NAMED = re.compile(r"\batomic\w+\s*\(\s*&?\s*(\w+)")  # the array in text that is not looked into
_PARTING = frozenset({"%", "&", "^"})  # neighbouring threads get different values


def strain_of(kernel: Kernel, variant: Variant, spec: KernelSpec, size: ProblemSize) -> Strain:
    """The strain of a variant's first launch at a size.

    Args:
        kernel: The variant in the loop IR, its mapping written down or its axes still open.
        variant: For its launch.
        spec: For arguments.
        size: Whose values scalars and extents take.
    """
    launch = variant.launches[0]
    threads = prod(axis.blocks(size.env) for axis in launch.grid) * prod(launch.block)
    reader = _Reader(kernel, launch.block, _values(kernel, variant, spec, size), _elements(spec, size))
    reader.body(kernel.prologue + kernel.whole, 1.0, 1.0)
    updates = sum(count for count, _ in reader.atomics) * threads
    addresses = max((min(where, count * threads) for count, where in reader.atomics), default=1.0)
    active = reader.useful / reader.spent if reader.spent else 1.0
    where = max(reader.lost, key=lambda text: reader.lost[text], default="")
    return Strain(updates, max(1.0, addresses), active, where)


def _values(kernel: Kernel, variant: Variant, spec: KernelSpec, size: ProblemSize) -> dict[str, int]:
    """Scalars at this size, and the launch; indices are those of the first thread."""
    launch, found = variant.launches[0], dict[str, int]()
    for arg in spec.args:
        if arg.is_scalar:
            value = arg.value.evaluate(size.env) if isinstance(arg.value, SizeExpr) else arg.value
            if value is not None and float(value).is_integer():
                found[arg.name] = int(value)
    for dim, axis, extent in zip("xyz", launch.grid, launch.block, strict=True):
        found |= {f"gridDim.{dim}": axis.blocks(size.env), f"blockDim.{dim}": extent}
    return found


def _elements(spec: KernelSpec, size: ProblemSize) -> dict[str, float]:
    return {arg.name: float(prod(arg.extent(size.env))) for arg in spec.args if not arg.is_scalar}


@dataclass
class _Reader:
    """Walks a body once, every statement with how often a thread comes by and which share of its warp does.

    Attributes:
        atomics: (updates of a thread, elements that they may go to).
        useful, spent: Operations of threads that take part, and of all that wait for them.
        lost: Operations lost at each condition.
    """

    kernel: Kernel
    block: tuple[int, int, int]
    values: dict[str, int]
    elements: Mapping[str, float]
    atomics: list[tuple[float, float]] = field(default_factory=list)
    useful: float = 0.0
    spent: float = 0.0
    lost: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._scope: Scope = make_scope(self.kernel, self.block)
        self._levels = Levels(self._scope)
        for name in self._scope.kinds:
            self.values.setdefault(name, 0)

    def body(self, body: Body, times: float, active: float, at: str = "") -> None:
        """The statements ``times`` times; ``at`` is the condition around them that costs most."""
        for stmt in body:
            match stmt:
                case If(condition=condition):
                    self._operations(stmt, (condition,), times, active, at)
                    self._branches(stmt, times, active, at)
                case Loop():
                    self._loop(stmt, times, active, at)
                case Repeat():
                    self._repeat(stmt, times, active, at)
                case Opaque(text=text):
                    for array in _NAMED.findall(text):
                        self._update(array, times * active, self.elements.get(array, float("inf")))
                case _:
                    self._operations(stmt, tuple(expressions(stmt)), times, active, at)

    def _branches(self, stmt: If, times: float, active: float, at: str) -> None:
        warps, share = self._met(stmt.condition)
        if warps == share == 1.0:  # one of two paths: that of the first thread
            holds = evaluate(self._scope.resolve(stmt.condition), self.values)
            self.body(stmt.orelse if holds == 0 else stmt.then, times, active, at)
            return
        text = f"`{expression(stmt.condition)}`"
        self.body(stmt.then, times * warps, active * share, text)
        self.body(stmt.orelse, times, active * (1.0 - warps * share), text)

    def _loop(self, loop: Loop, times: float, active: float, at: str) -> None:
        trips = self._trips(loop)
        uneven = any(
            self._levels.of(e) is Uniformity.DIVERGENT and self._scope.loads(e) for e in (loop.lower, loop.upper)
        )
        share = _HALF if uneven else 1.0
        self.body(loop.body, times * trips, active * share, f"the loop over {loop.var}" if uneven else at)

    def _repeat(self, loop: Repeat, times: float, active: float, at: str) -> None:
        """A condition that is asked for first parts the threads by itself; else those that have left wait."""
        asks = bool(loop.body) and isinstance(loop.body[0], If)
        uneven = not asks and any(self._levels.of(e) is Uniformity.DIVERGENT for e in loop.exits)
        where = f"the loop on line {loop.line}" if uneven else at
        self.body(loop.body, times * _UNKNOWN_TRIPS, active * (_HALF if uneven else 1.0), where)

    def _trips(self, loop: Loop) -> float:
        low, high = (evaluate(self._scope.resolve(edge), self.values) for edge in (loop.lower, loop.upper))
        if low is None or high is None:
            return _UNKNOWN_TRIPS
        return float(max(0, -(-(high - low) // loop.step)))

    def _operations(self, stmt: Stmt, parts: tuple[Expr, ...], times: float, active: float, at: str) -> None:
        count = times * sum(isinstance(node, Binary | Call | Index) for part in parts for node in walk(part))
        self.spent += count
        self.useful += count * active
        if active < 1.0:
            self.lost[at] = self.lost.get(at, 0.0) + count * (1.0 - active)
        for array, subscripts in _updated(parts):
            self._update(array, times * active, self._addresses(array, subscripts))

    def _update(self, array: str, count: float, addresses: float) -> None:
        if self._scope.spaces.get(array) is MemorySpace.GLOBAL:
            self.atomics.append((count, addresses))

    def _addresses(self, array: str, subscripts: tuple[Expr, ...]) -> float:
        """Elements that the updates of all threads may go to: one, or any of the array."""
        resolved = [self._scope.resolve(part) for part in subscripts]
        fixed = all(self._scope.steady(part) for part in resolved)
        return 1.0 if fixed else self.elements.get(array, float("inf"))

    def _met(self, condition: Expr) -> tuple[float, float]:
        """(share of warps that run what is under a condition, share of their threads that take part).

        Both are 1 where a warp agrees on it, or all but the last one do.
        """
        if self._levels.of(condition) is not Uniformity.DIVERGENT:
            return 1.0, 1.0
        if isinstance(condition, Binary) and condition.op in ("&&", "||"):
            sides = self._met(condition.left), self._met(condition.right)
            return min(sides) if condition.op == "&&" else max(sides)
        resolved = self._scope.resolve(condition)
        parting = self._scope.loads(condition) or any(
            isinstance(node, Binary) and node.op in _PARTING for node in walk(resolved)
        )
        if parting or not isinstance(resolved, Binary):
            return 1.0, _HALF
        if resolved.op == "==":  # one thread of a block
            return min(1.0, _WARP / prod(self.block)), 1.0 / min(_WARP, prod(self.block))
        return 1.0, 1.0


def _updated(parts: tuple[Expr, ...]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """(array, subscripts) of every atomic function called."""
    for part in parts:
        for node in walk(part):
            if not isinstance(node, Call) or node.function not in ATOMICS or not node.args:
                continue
            match node.args[0]:
                case Unary("&", Index(array, subscripts)):
                    yield array, subscripts
                case Var(array):
                    yield array, ()
                case Binary("+", Var(array), offset):
                    yield array, (offset,)

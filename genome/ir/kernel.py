"""A kernel in the loop IR: parameters, parallel axes and their digits, body, and what its rewrites rely on.

A parallel axis is one integer, the global index ``blockIdx.x * blockDim.x + threadIdx.x`` say, written in mixed
radix::

    x = ((block * outer + o) * threads + t) * inner + v

``o`` and ``v`` are instance loops of one thread (strided and contiguous coarsening), ``t`` is ``threadIdx``. Where
threads share an instance (a row a block), ``threadIdx`` is ``t * lanes + lane``. Mapping transforms only set the
digits; ``genome.transforms.mapping`` writes the index once all of them are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from genome.ir.expr import Expr
from genome.ir.node import Node, once
from genome.ir.stmt import Body, Decl, Loop, used_names
from genome.ir.variables import Variable
from genome.sizes import SizeExpr


@dataclass(frozen=True)
class Param:
    """A kernel parameter. ``ctype`` is the element type without qualifiers (``float``, ``unsigned char``)."""

    name: str
    ctype: str
    pointer: bool = False
    const: bool = False
    restrict: bool = False


@dataclass(frozen=True)
class Lanes:
    """Threads that share each instance of an axis; they divide its loops: ``j = (o * threads + lane) * inner + v``.

    Attributes:
        threads: Lanes of an instance, a power of two from 32.
        inner: Adjacent iterations of a shared loop that one lane takes.
        shuffle: True if lanes of a warp exchange values by shuffles; else all go through shared memory.
        no_alias: True if pointer parameters are known not to overlap: fewer barriers are needed then.
        exact: True if floating-point sums keep their order: a loop with one is not divided then.
    """

    threads: int
    inner: int = 1
    shuffle: bool = False
    no_alias: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Axis:
    """A parallel axis: the variable that holds the global index along one dimension of the launch.

    Attributes:
        name: Variable name in the source (``row``).
        dim: Launch dimension that carries it (``x``, ``y`` or ``z``).
        lower: Inclusive bound that the kernel's own guard enforces, or None.
        upper: Exclusive bound that the kernel's own guard enforces, or None.
        ctype: Declared C type.
        outer: Strided coarsening: instances a thread, ``threads * inner`` apart.
        threads: Threads of a block along it; 0 until the launch's block is known.
        inner: Blocked coarsening: adjacent instances a thread.
        source_dim: Launch dimension in the source, where ``dim`` was changed; empty when it was not.
        most_blocks: Largest number of blocks along it, which then stride over the axis; 0 for as many as it takes.
        lanes: The threads that share each instance of the axis; None where an instance has one thread.
        strided: True if the source strides over it with the whole grid: it has no second turn if the launch reaches
            ``upper``.
        line: Where the user wrote the guard that bounds it; 0 where there is none. Tells no two axes apart.
    """

    name: str
    dim: str
    lower: Expr | None = None
    upper: Expr | None = None
    ctype: str = "int"
    outer: int = 1
    threads: int = 0
    inner: int = 1
    source_dim: str = ""
    most_blocks: int = 0
    lanes: Lanes | None = None
    strided: bool = False
    line: int = field(default=0, compare=False, repr=False, kw_only=True)

    @property
    def domain_dim(self) -> str:
        """The launch dimension whose domain in the campaign is this axis' extent."""
        return self.source_dim or self.dim

    @property
    def tile(self) -> int:
        """Elements of the axis that a block covers."""
        return self.outer * self.threads * self.inner

    @property
    def block_threads(self) -> int:
        """Threads of a block along the launch dimension."""
        return self.threads * (self.lanes.threads if self.lanes else 1)


@dataclass(frozen=True)
class Exchange:
    """Results of a block go through a shared tile, so that other threads store them than computed them.

    Attributes:
        pad: Elements added to a row of the tile.
        width: Adjacent elements that a thread stores.
    """

    pad: int = 1
    width: int = 1


@dataclass(frozen=True)
class Divisible:
    """``expr`` (over scalar parameters) must be a multiple of ``by``."""

    expr: Expr
    by: int


@dataclass(frozen=True)
class Equals:
    """``expr`` (over scalar parameters) must have this value."""

    expr: Expr
    value: int


@dataclass(frozen=True)
class AtLeast:
    """``expr`` (over scalar parameters) must not be smaller than ``value``."""

    expr: Expr
    value: int


@dataclass(frozen=True)
class Aligned:
    """The pointer parameter must be a multiple of ``bytes``."""

    param: str
    bytes: int


@dataclass(frozen=True)
class Holds:
    """An expression of the campaign's sizes must be true (an extent that no parameter carries)."""

    condition: SizeExpr


Condition = Divisible | Equals | AtLeast | Aligned | Holds


@dataclass(frozen=True)
class Finish:
    """What runs behind a kernel to complete its results, from a buffer that it left them in.

    Attributes:
        kernel: Has the parameters of the first, the buffer last.
        buffer: Name of the buffer, a pointer parameter of both.
        ctype: Type of its elements.
        elements: How many there are.
        threads: Of the only block that it has, the buffer being cleared before the first launch; 0 where it is launched
            for its axes.
    """

    kernel: Kernel
    buffer: str
    ctype: str
    elements: SizeExpr
    threads: int = 0


@dataclass(frozen=True, eq=False)
class Kernel(Node):
    """One ``__global__`` function.

    Attributes:
        name: Entry name.
        params: In the order of the signature.
        axes: Parallel axes in source order; empty when the index map was not understood (geometry is locked).
        body: Statements of one thread. Axis variables are free in it until the mapping is written; then it is the
            path of blocks (or threads) that lie inside the axes' bounds.
        tail: After mapping: what a thread outside ``inside`` runs instead, or None when every thread runs the body.
        inside: After mapping: condition under which a thread runs ``body``.
        inside_block: The same for the whole block at once; used as soon as the body holds a barrier.
        prologue: Declarations in front of everything (index arithmetic).
        opening: After mapping: what every thread of a block runs before its instances, inside bounds or not.
        closing: The same after its instances.
        rounds: After mapping: loops over the blocks that one block stands for, around the instances; the body of each
            declares the base of its axis.
        shared: Shared arrays.
        launch_shared: Bytes of one array, sized by the launch, that holds those of ``shared``; 0 where there is none.
        conditions: What must hold of parameters for the rewritten kernel to be right; the host guard checks it.
        multiples: For integer variables, a number that always divides them.
        mapped: True once the mapping is written.
        single: After mapping: True if every thread computes one instance (then ``tail`` has nothing left to do).
        exchange: How the mapping turns the stores of the body; None where each thread stores what it computed.
        threads: After mapping: thread index variables with their extents, fastest first.
        firsts: After mapping: each axis' declaration of the thread's first index; printed where an index uses it.
        options: Compile options that genes asked for (``fast-math``), in the engine's own words.
        launch_bounds: ``__launch_bounds__`` of the source, printed back.
        prelude: Verbatim text in front of the kernel (helpers, constants, structs, macros).
        verbatim: Body text of a kernel outside the subset (``body`` is then empty): only macros, block shape,
            qualifiers and options are genes.
        block: Threads along x, y, z where a gene changed the launch of a kernel without axes; else None.
        macros: Names and values of the tunable macros that the source uses.
        parts: Blocks along z that each do a part of a loop of the body.
        finish: What runs behind it; None where its own results are complete.
        variables: Variables of the prelude that a host fills, and that the kernel or one of its helpers uses.
    """

    name: str
    params: tuple[Param, ...]
    axes: tuple[Axis, ...]
    body: Body
    tail: Body | None = None
    inside: Expr | None = None
    inside_block: Expr | None = None
    prologue: Body = ()
    opening: Body = ()
    closing: Body = ()
    rounds: tuple[Loop, ...] = ()
    shared: tuple[Decl, ...] = ()
    launch_shared: int = 0
    conditions: tuple[Condition, ...] = ()
    multiples: tuple[tuple[str, int], ...] = ()
    mapped: bool = False
    single: bool = True
    exchange: Exchange | None = None
    threads: tuple[tuple[str, int], ...] = ()
    firsts: tuple[Decl, ...] = ()
    options: tuple[str, ...] = ()
    launch_bounds: str = ""
    prelude: str = ""
    verbatim: str = ""
    block: tuple[int, int, int] | None = None
    macros: tuple[tuple[str, str], ...] = field(default=())
    parts: int = 1
    finish: Finish | None = None
    variables: tuple[Variable, ...] = ()

    @property
    def whole(self) -> Body:
        """Everything that a thread may run behind the prologue."""
        return self.opening + self.rounds + self.body + (self.tail or ()) + self.closing

    def param(self, name: str) -> Param | None:
        """The parameter of that name, or None."""
        return next((param for param in self.params if param.name == name), None)

    def axis(self, name: str) -> Axis | None:
        """The axis of that variable name, or None."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def with_axis(self, axis: Axis) -> Kernel:
        """The kernel with the axis of the same name replaced."""
        return replace(self, axes=tuple(axis if old.name == axis.name else old for old in self.axes))

    def require(self, *conditions: Condition) -> Kernel:
        """The kernel with conditions added (once each)."""
        needed = tuple(dict.fromkeys((*self.conditions, *conditions)))
        return self if needed == self.conditions else replace(self, conditions=needed)

    def fresh(self, base: str) -> str:
        """A name that nothing in the kernel uses: ``base``, else ``base_2``, ``base_3``, ..."""
        used = self.used_names
        if base not in used:
            return base
        return next(name for number in range(2, 10_000) if (name := f"{base}_{number}") not in used)

    @once
    def used_names(self) -> frozenset[str]:
        """Every name that the kernel declares or uses."""
        used = {self.name, *(param.name for param in self.params), *(axis.name for axis in self.axes)}
        used |= {variable.name for variable in self.variables}
        used |= {decl.name for decl in self.shared} | {name for name, _ in self.macros}
        return used_names(self.prologue + self.whole) | used

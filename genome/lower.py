"""Lowering: a genome on the pristine kernel becomes a printed variant, or a rejection with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from genome.analysis.divergence import divergent_barrier
from genome.analysis.effects import holds_barrier, shared_arrays
from genome.analysis.races import race
from genome.conditions import size_condition
from genome.finish import scratch, settled, steps
from genome.genes import Genome
from genome.ir.kernel import Aligned, Axis, Kernel
from genome.ir.print_errors import PrintError
from genome.ir.print_names import DYNAMIC_SHARED
from genome.ir.print_source import entry_name, print_kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Barrier, Body, If, Loop, Opaque, Stmt, flatten
from genome.limits import STATIC_SHARED, DeviceLimits
from genome.replay import Replay, as_written, replay, spec_kernel
from genome.shared_room import launched_bytes, roomy, static_bytes
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import KernelSpec, Reading
from genome.transforms.base import Context, Transform
from genome.transforms.mapping import write_mapping
from genome.variant import GridAxis, Guard, Launch, Rejection, Target, Variant

_ONE = GridAxis(SizeExpr("1"))


def lower(
    spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], target: Target, limits: DeviceLimits
) -> Variant | Rejection:
    """Replays the genome on the pristine kernel and prints it for the target. The empty genome is the baseline.

    Raises:
        SourceError: If the kernel itself cannot be parsed (the same for every genome).
    """
    broken = _broken_restriction(spec, genome)
    if broken is not None:
        return Rejection(genome, f"the campaign's restriction {broken} does not hold", "restriction")
    result = replay(spec, genome, transforms, Context(spec, target, limits))
    spec = replace(spec, launch=spec.launch.at(result.kernel.macros))
    source_form = _is_source_form(result)
    opencl = target is Target.OPENCL
    kernel = spec_kernel(spec, result.kernel.macros) if source_form else seal(result.kernel, closed=opencl)
    bounds = _launch_bounds(spec, kernel, result.kernel.launch_bounds)
    kernel = replace(kernel, params=result.kernel.params, launch_bounds=bounds, options=result.kernel.options)
    buffers = (kernel.finish.buffer,) if kernel.finish is not None else ()
    own = spec.launch.shared_bytes
    kernel = kernel if source_form else roomy(kernel, target, own)
    launch = _launch(spec, kernel, target, buffers)
    last = None if kernel.finish is None else roomy(seal(write_mapping(kernel.finish.kernel)), target, own)
    problem = _static_problem(kernel, launch, spec, limits, target, source_form)
    if problem is not None:
        return Rejection(genome, problem)
    try:
        own_words = source_form and spec.reading is not Reading.PARSED
        guard = Guard() if own_words else _guard(spec, kernel)
        if result.applied:
            guard = replace(guard, conditions=(*guard.conditions, *_same_block(spec, launch)))
    except ExpressionError as error:
        return Rejection(genome, f"the host cannot check what the variant relies on: {error}")
    try:
        source = _untouched(spec, kernel, target) if source_form else print_kernel(settled(kernel, last), target)
    except PrintError as error:
        return Rejection(genome, str(error), "print")
    return Variant(
        kernel=spec.name,
        target=target,
        source=source,
        steps=steps(kernel.finish, launch, None if last is None else _launch(spec, last, target, buffers)),
        scratch=scratch(kernel.finish),
        guard=guard,
        options=_options(spec, kernel, target),
        proposed=genome,
        genome=Genome(result.applied),
        skipped=result.skipped,
        unrolled=unrolled_size(kernel.body),
    )


def _is_source_form(result: Replay) -> bool:
    """True if no gene touched geometry or body: then the kernel prints as the user wrote it."""
    untouched = {"restrict", "fast_math", "launch_bounds", "macro"}
    return all(gene.transform in untouched for gene in result.applied)


def _untouched(spec: KernelSpec, kernel: Kernel, target: Target) -> str:
    """The user's own words, so that a mistake in reading them cannot reach the baseline; else the parsed form."""
    if spec.reading is not Reading.PARSED:
        try:
            return print_kernel(as_written(spec, kernel), target)
        except PrintError:
            pass  # the parsed form may do without what the target's language cannot say
    return print_kernel(kernel, target)


def seal(kernel: Kernel, closed: bool = False) -> Kernel:
    """The kernel in one body: body and tail under the condition that tells them apart, inside what surrounds them.

    Args:
        kernel: Mapped, or with its axes still open (it then stays as it is).
        closed: Put a barrier behind the path of whole blocks if it holds others. PoCL 3.0 with LLVM 14 was seen to drop
            the condition of ``if (lane == 0) y[r] += s;`` there, once the other path had a like one. Text that is not
            looked into may let threads leave before: there is none behind it.
    """
    if not kernel.mapped:
        return kernel
    barriers = holds_barrier(kernel.body)
    closed = closed and not any(isinstance(stmt, Opaque) and stmt.barrier for stmt in flatten(kernel.body))
    kernel = replace(kernel, body=map_stmts(kernel.body, _keep_barriers_rolled))
    inside = kernel.inside_block if barriers else kernel.inside
    body = kernel.body
    if inside is not None:
        tail: Body = () if kernel.single and not barriers else kernel.tail or ()
        end: Body = (Barrier(),) if closed and barriers and tail and not isinstance(body[-1], Barrier) else ()
        body = (If(inside, (*body, *end), tail),)
    again: Body = (Barrier(),) if barriers else ()  # shared arrays are written anew in the next round
    for loop in reversed(kernel.rounds):
        body = (replace(loop, body=(*loop.body, *body, *again)),)
    body = (*kernel.opening, *body, *kernel.closing)
    return replace(kernel, body=body, tail=None, opening=(), closing=(), rounds=())


def _keep_barriers_rolled(stmt: Stmt) -> Body:
    """Copies of a barrier gain nothing, and CPU compilers need exponential time for them."""
    if isinstance(stmt, Loop) and stmt.unroll is not None and holds_barrier(stmt.body):
        return (replace(stmt, unroll=None),)
    return (stmt,)


def unrolled_size(body: Body) -> int:
    """Statements of a thread once every unrolled loop is written out."""
    return sum(_statement_size(stmt) for stmt in body)


def _statement_size(stmt: Stmt) -> int:
    if isinstance(stmt, Loop):
        copies = (stmt.trip or 1) if stmt.unroll == 0 else max(1, stmt.unroll or 1)
        return copies * unrolled_size(stmt.body)
    return 1 + unrolled_size(stmt.inside)


def _launch_bounds(spec: KernelSpec, kernel: Kernel, bound: str) -> str:
    """The launch bound, raised where a gene gave the block more threads than the user's own bound allows."""
    threads = prod(block_of(spec, kernel))
    most = bound.split(",")[0].strip()
    own = threads == prod(spec.launch.block) and not (spec.launch.block_exprs and most.isdigit())
    kept = own or (most.isdigit() and int(most) >= threads)
    return bound if not bound or kept else str(threads)


def block_of(spec: KernelSpec, kernel: Kernel) -> tuple[int, int, int]:
    """Threads of a block along x, y, z."""
    block = list(kernel.block or spec.launch.block)
    for axis in kernel.axes:
        block["xyz".index(axis.dim)] = axis.block_threads
    return block[0], block[1], block[2]


def _static_problem(
    kernel: Kernel, launch: Launch, spec: KernelSpec, limits: DeviceLimits, target: Target, source_form: bool
) -> str | None:
    block = launch.block
    if prod(block) > limits.max_threads:
        return f"a block of {block[0]}x{block[1]}x{block[2]} threads is over the limit of {limits.max_threads}"
    for dim, threads, most in zip("xyz", block, limits.max_block, strict=True):
        if threads > most:
            return f"{threads} threads along {dim} are over the limit of {most}"
    shared = launch.static_shared_bytes
    if shared + kernel.launch_shared > limits.shared_bytes:
        return f"{shared + kernel.launch_shared} bytes of shared memory are over the limit of {limits.shared_bytes}"
    if target is Target.CUDA and shared > STATIC_SHARED:
        return f"{shared} bytes of shared arrays are over CUDA's limit of {STATIC_SHARED} for arrays of constant size"
    size = unrolled_size(kernel.body)
    if not source_form and size > limits.unrolled:
        return f"{size} statements after unrolling are over the limit of {limits.unrolled}"
    conflict = _race(spec, kernel, source_form)
    if conflict is not None:
        own = " (as in the kernel that was given)" if race(spec_kernel(spec)) == conflict else ""
        return f"a race: {conflict} may be read and written by different threads between two barriers{own}"
    if not source_form and (condition := divergent_barrier(kernel)) and divergent_barrier(spec_kernel(spec)) is None:
        return f"a barrier would stand under {condition}"
    for problem in spec.sizes:
        for dim, axis, most in zip("xyz", launch.grid, limits.max_grid, strict=True):
            blocks = axis.blocks(problem.env)
            if blocks > most:
                return f"{blocks} blocks along {dim} at {problem.label} are over the limit of {most}"
    return None


def _race(spec: KernelSpec, kernel: Kernel, source_form: bool) -> str | None:
    """What ``race`` says; the kernel as the user wrote it is not judged, whatever a compile option adds to it."""
    own = spec_kernel(spec)
    if source_form and (not kernel.macros or race(own) is not None):
        return None
    return race(kernel, frozenset(shared_arrays(own)))


def _broken_restriction(spec: KernelSpec, genome: Genome) -> str | None:
    if not spec.restrictions:
        return None
    values = {tunable.name: tunable.values[0] for tunable in spec.tunables}
    values.update({g.site.label: str(g.values.get("value")) for g in genome.genes if g.transform == "macro"})
    numbers = {name: int(value) for name, value in values.items() if value.lstrip("-").isdigit()}
    for restriction in spec.restrictions:
        try:
            if not restriction.evaluate(numbers):
                return str(restriction)
        except ExpressionError:
            return str(restriction)
    return None


def _launch(spec: KernelSpec, kernel: Kernel, target: Target, buffers: tuple[str, ...] = ()) -> Launch:
    grid = [_ONE, _ONE, _ONE]
    for index, extent in enumerate(spec.launch.grid):
        grid[index] = GridAxis(extent)
    for index, extent in enumerate(spec.launch.domain):
        grid[index] = GridAxis(extent, block_of(spec, kernel)[index])
    for axis in kernel.axes:
        domain = spec.launch.domain["xyz".index(axis.domain_dim)]
        grid["xyz".index(axis.dim)] = _blocks(domain, axis)
    if kernel.parts > 1:
        grid[2] = GridAxis(SizeExpr(str(kernel.parts)))
    return Launch(
        entry=entry_name(kernel, target),
        grid=(grid[0], grid[1], grid[2]),
        block=block_of(spec, kernel),
        args=tuple(arg.name for arg in spec.parameters) + buffers + _passed(kernel, target),
        shared_bytes=launched_bytes(kernel, spec.launch.shared_bytes),
        static_shared_bytes=static_bytes(kernel),
    )


def _passed(kernel: Kernel, target: Target) -> tuple[str, ...]:
    """Variables of the file that a launch passes: OpenCL C has none that a host could fill."""
    return tuple(v.name for v in kernel.variables if v.given) if target is Target.OPENCL else ()


def _blocks(domain: SizeExpr, axis: Axis) -> GridAxis:
    """Blocks along an axis, at most as many as it allows."""
    if not axis.most_blocks:
        return GridAxis(domain, axis.tile)
    needed = f"((({domain}) + {axis.tile - 1}) // {axis.tile})"
    return GridAxis(SizeExpr(f"{needed} - ({needed} - {axis.most_blocks}) * ({needed} > {axis.most_blocks})"))


def _options(spec: KernelSpec, kernel: Kernel, target: Target) -> tuple[str, ...]:
    fast = "fast-math" in kernel.options
    if target is Target.CUDA:
        return ("--use_fast_math",) if fast else ()
    options = ["-cl-std=CL1.2", "-cl-fast-relaxed-math" if fast else "-cl-mad-enable"]
    dynamic = max((spec.launch.shared_bytes.evaluate(size.env) for size in spec.sizes + spec.check_sizes), default=0)
    if dynamic:
        options.append(f"-D{DYNAMIC_SHARED}={dynamic}")
    return tuple(options)


def _same_block(spec: KernelSpec, launch: Launch) -> tuple[SizeExpr, ...]:
    """The sizes ask for the block that the variant is compiled for."""
    sides = zip(spec.launch.sized_block, launch.block, strict=False)
    return tuple(SizeExpr(f"({side}) == {threads}") for side, threads in sides if side.names)


def _guard(spec: KernelSpec, kernel: Kernel) -> Guard:
    conditions = [size_condition(spec, condition) for condition in kernel.conditions]
    for axis in kernel.axes:
        if kernel.mapped and axis.upper is None and axis.tile > 1:
            domain = spec.launch.domain["xyz".index(axis.domain_dim)]
            conditions.append(SizeExpr(f"({domain}) % {axis.tile} == 0"))
    alignments = tuple((c.param, c.bytes) for c in kernel.conditions if isinstance(c, Aligned))
    return Guard(tuple(dict.fromkeys(c for c in conditions if c is not None)), alignments)

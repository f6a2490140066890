"""Site labels and roles: how genes name the axes, loops and arrays of a kernel, and find them in another one."""

from __future__ import annotations

from genome.analysis.effects import reads_of
from genome.genes import Site
from genome.ir.expr import base_name, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Decl, Loop, LoopRole, flatten


def axis_sites(kernel: Kernel) -> tuple[Site, ...]:
    """One site a parallel axis while the mapping is still open: ``Site("col", "parallel.x")``."""
    if kernel.mapped:
        return ()
    return tuple(Site(axis.name, f"parallel.{axis.dim}") for axis in kernel.axes)


def block_sites(kernel: Kernel) -> tuple[Site, ...]:
    """The axes; for a kernel without axes whose block may change, the launch dimensions that have threads."""
    if kernel.axes or kernel.block is None:
        return axis_sites(kernel)
    return tuple(Site(f"block.{dim}", f"parallel.{dim}") for dim, n in zip("xyz", kernel.block, strict=True) if n > 1)


def sequential_loops(kernel: Kernel) -> tuple[Loop, ...]:
    """The loops that the user wrote, in program order of the body."""
    roles = (LoopRole.SEQUENTIAL, LoopRole.TILE, LoopRole.STRIP)
    return tuple(s for s in flatten(kernel.body) if isinstance(s, Loop) and s.role in roles)


def is_reduction(loop: Loop) -> bool:
    """True if the loop accumulates into something that does not depend on its variable."""
    for stmt in flatten(loop.body):
        if not isinstance(stmt, Assign) or loop.var in names(stmt.target):
            continue
        if stmt.op in ("+=", "-=", "*="):
            return True
        if stmt.op == "=" and base_name(stmt.target) in names(stmt.value):
            return True
    return False


def loop_sites(kernel: Kernel) -> tuple[Site, ...]:
    """One site a sequential loop: role ``reduction[i]`` if it accumulates, else ``loop[i]``; parts of a strip-mined
    loop are ``tile[i]`` and ``strip[i]``.
    """
    counts: dict[str, int] = {}
    sites: list[Site] = []
    seen: set[str] = set()
    for loop in sequential_loops(kernel):
        if loop.var in seen:
            continue
        seen.add(loop.var)
        kind = "reduction" if is_reduction(loop) else "loop"
        kind = loop.role.value if loop.role is not LoopRole.SEQUENTIAL else kind
        sites.append(Site(loop.var, f"{kind}[{counts.get(kind, 0)}]"))
        counts[kind] = counts.get(kind, 0) + 1
    return tuple(sites)


def read_arrays(kernel: Kernel) -> tuple[str, ...]:
    """Pointer parameters that the body reads, in order of first read."""
    pointers = {param.name for param in kernel.params if param.pointer}
    found: dict[str, None] = {}
    for stmt in flatten(kernel.body):
        found.update(dict.fromkeys(access.array for access in reads_of(stmt) if access.array in pointers))
    return tuple(found)


def find_site(sites: tuple[Site, ...], wanted: Site) -> Site | None:
    """The site with the label of ``wanted``, else the one with its role, else None."""
    by_label = next((site for site in sites if site.label == wanted.label), None)
    if by_label is not None:
        return by_label
    return next((site for site in sites if wanted.role and site.role == wanted.role), None)


def declared(kernel: Kernel, name: str) -> Decl | None:
    """The declaration of a private or shared variable of the body, or None."""
    for decl in (*kernel.shared, *(s for s in flatten(kernel.body) if isinstance(s, Decl))):
        if decl.name == name:
            return decl
    return None

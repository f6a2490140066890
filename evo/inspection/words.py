"""Expressions, counts and lists as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evo.inspection.facts import AccessView
from genome.analysis.count import Count
from genome.ir.expr import Expr
from genome.ir.poly import Poly
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.variant import Target

_PRINTER = ExprPrinter(Target.CUDA)

_OPAQUE: Sequence[tuple[str, str]] = (
    (r"\basm\b|__asm", "inline assembly"),
    (r"<<<", "it launches another kernel"),
    (r"\b(?:tex|surf)[123]D|\btex(?:1Dfetch|Cubemap)|\btexture\b", "it reads a texture or a surface"),
    (r"cooperative_groups|\bthis_(?:thread_block|grid)|tiled_partition|\bcg::|\.(?:thread_rank|shfl\w*|sync)\s*\(",
     "cooperative groups"),
    (r"\bmake_(?:layout|shape|tensor|coord)|\blocal_tile|\bTensor\b|\bLayout\b", "a layout library"),
    (r"\bwmma::|\bmma_|__pipeline|cuda::", "a CUDA library"),
    (r"\[[&=]?\]\s*\(|\[[&=\w, ]*\]\s*\([^()]*\)\s*\{", "a lambda"),
    (r"\b__(?:shfl|ballot|any|all|match_any|match_all|reduce_\w+?)_?(?:sync|up_sync|down_sync|xor_sync)?\s*\(",
     "threads of a warp exchange values"),
    (r"\bgoto\b|^\w+\s*:(?!:)", "it jumps"),
    (r"^(?:for|while|do)\b(?s:.*)\breturn\b", "it leaves the kernel from inside of a loop"),
    (r"^switch\b", "a switch"),
    (r"^(?:while|do)\b", "a loop that does not count"),
    (r"^for\b", "a loop whose count is not understood"),
    (r"\breturn\b", "it leaves the kernel in the middle"),
    (r"^auto\b|::|\w<[^<>]*>\s*[({]", "C++ that the front end does not read"),
)  # fmt: skip


def expression(value: Expr | Poly | Count) -> str:
    """C text."""
    expr = value if isinstance(value, Expr) else value.to_expr()
    try:
        return _PRINTER.text(expr)
    except PrintError:
        return "?"


def why_opaque(text: str) -> str:
    """What about a text keeps the engine from looking into it; empty where nothing sticks out."""
    return next((why for pattern, why in _OPAQUE if re.search(pattern, text)), "")


def listed(items: Iterable[str], most: int = 6) -> str:
    """``a, b and c``; what is beyond ``most`` is counted."""
    names = list(dict.fromkeys(items))
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def at_lines(lines: Iterable[int]) -> str:
    """``line 7``, ``lines 7 and 9``; empty where none is known."""
    known = sorted({line for line in lines if line})
    if not known:
        return ""
    return f"line{'s' if len(known) > 1 else ''} {listed(map(str, known), 8)}"


def known_lines(lines: Iterable[int]) -> tuple[int, ...]:
    """Each line once, in order, those that are not known left out."""
    return tuple(sorted({line for line in lines if line}))


def plural(count: int, noun: str) -> str:
    """``1 loop``, ``2 loops``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def spaced(size: str) -> str:
    """A size's label with room between its parts."""
    return size.replace(",", ", ")


def figure(value: float) -> str:
    """Three digits, and from ten thousand on a prefix: ``2048``, ``16.4k``."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, 1e4):
            return f"{value / factor:.3g}{prefix}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def byte_count(value: float) -> str:
    """``12 bytes``, ``16.4 kB``."""
    text = figure(value)
    return f"{text[:-1]} {text[-1]}B" if text[-1].isalpha() else f"{text} bytes"


def together(suggests: Iterable[str]) -> list[str]:
    """``shared_tile@A (after strip)`` and the same at B as one: ``shared_tile@A, B (after strip)``."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in suggests:
        transform, _, rest = name.partition("@")
        label, _, note = rest.partition(" ")
        groups.setdefault((transform, note), []).append(label)
    return [f"{name}@{', '.join(labels)}" + (f" {note}" if note else "") for (name, note), labels in groups.items()]


def agreement(uniformity: str) -> str:
    """Which threads agree on a condition, the widest group of them."""
    return {"grid": "all", "block": "those of a block", "warp": "those of a warp"}.get(uniformity, "not even a warp")


def wasteful(access: AccessView) -> bool:
    """True if a warp touches more sectors than it takes, by more than a block's odd shape accounts for."""
    return bool(access.sectors and access.ideal_sectors and access.sectors >= access.ideal_sectors + 2)


def warp(access: AccessView) -> str:
    """How a warp touches an array, in a few words."""
    sectors = f", {plural(access.sectors, 'sector')}" if access.sectors else ""
    if wasteful(access):
        sectors += f" where {access.ideal_sectors} would do"
    match access.coalescing:
        case "broadcast":
            return f"one element{sectors}"
        case "contiguous":
            return f"neighbours{sectors}"
        case "strided":
            return f"{access.stride} apart{sectors}"
        case "indirect":
            return "wherever a loaded value says"
        case "irregular":
            return "not known"
    return ""

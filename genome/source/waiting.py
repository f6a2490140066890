"""Loops that only another thread can end: they ask for something that nothing in them changes."""

from __future__ import annotations

from collections.abc import Iterator

from genome.ir.expr import Expr, Index, base_name, names
from genome.ir.stmt import Assign, Body, Decl, If, Opaque, Repeat, expressions, leaves


def waits(loop: Repeat) -> bool:
    """True unless its way out depends on a value that each turn makes of the one before.

    ``while (p != 0) p = next[p];`` goes on by itself. ``while (flag[i] == 0);`` waits, and so may ``do v = flag[i];
    while (v == 0);``: whether the thread that ends it can run meanwhile depends on how instances lie in threads. Text
    that is not looked into is taken to go on.
    """
    made_of: dict[str, set[str]] = {}
    for name, sources in _flows(loop.body, frozenset()):
        made_of.setdefault(name, set()).update(sources)
    reached = {name for condition in loop.exits for name in names(condition)}
    waiting = list(reached)
    while waiting:
        new = made_of.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return not any(_closes(name, made_of) for name in reached & made_of.keys())


def _closes(name: str, made_of: dict[str, set[str]]) -> bool:
    """True if the name's value flows back into itself."""
    seen, waiting = set[str](), list(made_of[name])
    while waiting:
        source = waiting.pop()
        if source == name:
            return True
        if source not in seen:
            seen.add(source)
            waiting += made_of.get(source, ())
    return False


def _flows(body: Body, control: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """(what is set, what its new value is made of or steered by)."""
    for stmt in body:
        match stmt:
            case Assign(target=target, value=value, op=op):
                plain = target.subscripts if isinstance(target, Index) else ()
                yield base_name(target), control | _named(value, *(plain if op == "=" else (target,)))
            case Decl(name=name, init=Expr() as init):
                yield name, control | _named(init)
            case Opaque(reads=reads, writes=written):
                yield from ((name, control | {*reads, name}) for name in written)
        asks = isinstance(stmt, If) and leaves(stmt.inside)  # that it turns on is no reason to turn on
        yield from _flows(stmt.inside, control if asks else control | _named(*expressions(stmt)))


def _named(*exprs: Expr) -> frozenset[str]:
    return frozenset(name for expr in exprs for name in names(expr))

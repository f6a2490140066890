"""Where a function or a type of a file ends: no item swallows the next one."""

from __future__ import annotations

import pytest

from genome.source.frontend import entries
from genome.source.preprocess import preprocess
from genome.source.slice import items

KERNEL = "__global__ void k(float* a) { a[0] = 1; }"
BEFORE = {
    "struct as a parameter": ("void f(struct T *t) { t->x = 0; }", "function", "f"),
    "template over a type": ("template <class T> void f(T t, int n) { t = n; }", "function", "f"),
    "enum as a parameter": ("int f(enum E e) { return e; }", "function", "f"),
    "plain type": ("struct T { int x; int get() { return x; } };", "type", "T"),
    "aligned type": ("struct __align__(16) T { int x; };", "type", "T"),
    "aligned by the standard": ("struct alignas(16) T { int x; };", "type", "T"),
    "type with a variable": ("struct T { int x; } t;", "type", "T"),
    "named by typedef": ("typedef struct { int x; } T;", "type", "T"),
    "class template": ("template <typename U> class T { U u; };", "type", "T"),
    "enumeration": ("enum class E : int { A, B };", "type", "E"),
    "initialised": ("static const int t[2] = { f(1), 2 };", "variable", "t"),
    "launch bounds": ("__global__ void __launch_bounds__(256) g(int n) { n = 0; }", "kernel", "g"),
}


@pytest.mark.parametrize("what", sorted(BEFORE))
def test_what_stands_behind_an_item_is_an_item_of_its_own(what: str) -> None:
    text, kind, name = BEFORE[what]
    first, last = items(preprocess(f"{text}\n{KERNEL}\n", "k.cu").tokens)
    assert (first.kind, last.kind, last.names) == (kind, "kernel", ("k",)) and name in first.names
    assert "k" in entries(f"{text}\n{KERNEL}\n")

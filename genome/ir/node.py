"""What expressions, statements and kernels have in common: immutable nodes with structural equality.

A transform rewrites a small part of a kernel and shares the rest, and legality asks the same things of every part again
and again. So what is derived from a node alone (its hash, the names that it uses) is computed once and kept with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - used like ``property``
    """A property of an immutable object, computed when it is first asked for.

    Like ``functools.cached_property``, without the lock: two threads may both compute the value, which is the same. The
    value must not hold the object itself: only the garbage collector could free the two.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        if instance is None:
            return self
        value = self.compute(instance)
        object.__setattr__(instance, self.name, value)  # found there from now on: this descriptor is not asked again
        return value


class Node:
    """Base of frozen dataclasses (``eq=False``) that are equal when they have the same type and equal fields.

    Keyword-only fields tell no two nodes apart.
    """

    __match_args__: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        """The fields alone: what was computed from them (a hash of strings above all) holds in this process only."""
        own = {field.name for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in self.__dict__.items() if name in own}

    def _fields(self) -> tuple[object, ...]:
        return _reader(self.__match_args__)(self)

    @once
    def _hash(self) -> int:
        return hash((type(self), *self._fields()))

    @once
    def _kind(self) -> object:
        """The same object for nodes that were found to be equal: they are not compared a second time."""
        return object()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Node)
        if self._hash != other._hash:
            return False
        if self._kind is not other._kind:
            if self._fields() != other._fields():
                return False
            object.__setattr__(self, "_kind", other._kind)
        return True


@cache
def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Reads the fields of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple(getattr(node, name) for name in names)


_MOST_SHARED = 1 << 16
_SHARED: dict[tuple[Any, ...], Any] = {}


class Shared(type):
    """Metaclass of small nodes that every rewrite makes anew: an expression that exists already is handed out again.

    Comparing equal expressions is then mostly a comparison of identities, and what is known of one is known of all.
    Nothing relies on it: the table is emptied when it is full, and two threads may make a node twice.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The node with these fields."""
        if kwargs:
            return super().__call__(*args, **kwargs)
        key = (cls, *args)
        node = _SHARED.get(key)
        if node is None:
            if len(_SHARED) >= _MOST_SHARED:
                _SHARED.clear()
            node = _SHARED[key] = super().__call__(*args)
        return node

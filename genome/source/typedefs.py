"""Other names of arithmetic and vector types: ``typedef unsigned int Index;`` and ``using Real = double;``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome.ir.types import FLOAT_TYPES, INTEGER_TYPES, VECTOR_TYPES, canonical
from genome.source.slice import Item

_KNOWN = INTEGER_TYPES | FLOAT_TYPES | VECTOR_TYPES


def typedefs(found: Sequence[Item]) -> dict[str, str]:
    """Name -> the type that it stands for; names that the file gives to two types are left out."""
    known: dict[str, str] = {}
    doubtful: set[str] = set()
    for item in found:
        texts = [token.text for token in item.tokens]
        if item.kind != "type" or item.template is not None or not item.names:
            continue
        name = item.names[-1]
        if texts[0] == "typedef" and texts[-2:] == [name, ";"]:
            meaning = _resolved(texts[1:-2], known)
        elif texts[:3] == ["using", name, "="]:
            meaning = _resolved(texts[3:-1], known)
        else:
            meaning = ""
        if name in known and known[name] != meaning:
            doubtful.add(name)
        if meaning:
            known[name] = meaning
    return {name: meaning for name, meaning in known.items() if name not in doubtful}


def _resolved(words: Sequence[str], known: Mapping[str, str]) -> str:
    """The type that the words say, "" for others than values of known types."""
    meaning = canonical(" ".join(known.get(word, word) for word in words))
    return meaning if meaning in _KNOWN else ""

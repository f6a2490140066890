"""What a misspelt name was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, choices: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest choice, else the whole list."""
    known = list(choices)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"possible: {', '.join(known)}" if known else "none is possible here"

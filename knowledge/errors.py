"""The errors of the knowledge base."""

from __future__ import annotations


class KnowledgeError(Exception):
    """The knowledge base cannot be used: what is wrong, and how to mend it. Never holds a password."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint


class KnowledgeAway(KnowledgeError):
    """The server is lost, full, busy or closed to us: the same work may succeed later."""

"""The one error of the front end."""

from __future__ import annotations


class SourceError(Exception):
    """The kernel source cannot be used as it stands.

    Attributes:
        path: File of the user.
        line: 1-based line in it, 0 when the whole file is meant.
        message: What was found.
        hint: How to mend it, or what still works.
    """

    def __init__(self, path: str, line: int, message: str, hint: str = "") -> None:
        self.path, self.line, self.message, self.hint = path, line, message, hint
        place = f"{path}:{line}" if line else path
        super().__init__(f"{place}: {message}" + (f" ({hint})" if hint else ""))

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, int, str, str]]:
        return SourceError, (self.path, self.line, self.message, self.hint)

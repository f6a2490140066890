"""Database URLs: validated, and never shown with their password."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from knowledge.errors import KnowledgeError

DRIVER = "postgresql+psycopg"
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "sslkey")
_EXAMPLE = "postgresql+psycopg://user:password@host:5432/database"


def parse_url(text: str) -> URL:
    """A validated URL; plain ``postgresql://`` is taken to mean psycopg.

    Raises:
        KnowledgeError: If it is no Postgres URL, or names no database. The message does not repeat the text.
    """
    try:
        url = make_url(text.strip())
    except (ArgumentError, ValueError):
        raise KnowledgeError("the knowledge base URL cannot be read", f"expected {_EXAMPLE}") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=DRIVER)
    if url.drivername != DRIVER:
        raise KnowledgeError(f"the knowledge base URL starts with '{url.drivername}'", f"expected {_EXAMPLE}")
    if not url.database:
        raise KnowledgeError(f"the knowledge base URL {shown(url)} names no database", f"expected {_EXAMPLE}")
    return url


def shown(url: URL) -> str:
    """The URL for people: the password, and options that hold secrets, replaced by ``***``."""
    query = {name: "***" if name in _SECRET_OPTIONS else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def scrubbed(text: str, url: URL) -> str:
    """A driver's message with the URL's secrets taken out."""
    secrets = [url.password, *(url.query.get(name) for name in _SECRET_OPTIONS)]
    for secret in secrets:
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "***")
    return text

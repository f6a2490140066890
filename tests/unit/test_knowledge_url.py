"""Database URLs are validated, and their secrets never shown."""

from __future__ import annotations

import pytest

from knowledge.errors import KnowledgeError
from knowledge.store import KnowledgeBase
from knowledge.url import parse_url, scrubbed, shown

SECRET = "hunter2-secret"


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgresql", "postgres"])
def test_postgres_urls_mean_psycopg(scheme: str) -> None:
    url = parse_url(f"{scheme}://me:{SECRET}@host:5433/base?sslmode=require&sslpassword={SECRET}")
    assert url.drivername == "postgresql+psycopg" and url.port == 5433 and url.password == SECRET
    assert SECRET not in shown(url) and "sslmode=require" in shown(url) and "host:5433/base" in shown(url)
    assert SECRET not in scrubbed(f"could not log in with {SECRET}", url)


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "mysql://me:hunter2-secret@host/base", "postgresql://me:hunter2-secret@host",
     "postgresql://me:hunter2-secret@host:port/base", "sqlite:///file.db"],
)  # fmt: skip
def test_other_urls_give_one_clear_error(text: str) -> None:
    with pytest.raises(KnowledgeError, match="expected postgresql\\+psycopg://") as caught:
        parse_url(text)
    assert SECRET not in str(caught.value)


def test_an_unreachable_server_gives_one_clear_error() -> None:
    with pytest.raises(KnowledgeError, match="cannot reach the knowledge base") as caught:
        KnowledgeBase.open(f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/base")
    assert SECRET not in str(caught.value) and "me:***@127.0.0.1:1/base" in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__

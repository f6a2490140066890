"""Brings what waits in spools into the base."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from knowledge.errors import KnowledgeAway, KnowledgeError
from knowledge.spool import Spool, spools
from knowledge.store import KnowledgeBase


@dataclass(frozen=True)
class Delivered:
    """A spool that the base has taken: its file, its campaign there, and how many results were in it."""

    file: str
    campaign: int
    results: int


def deliver(base: KnowledgeBase, spool: Spool, campaign: int, patience_s: float | None = None) -> int:
    """Writes everything in order and removes the file; what the base has already is not doubled. Returns the number.

    Args:
        base: Where to.
        spool: What.
        campaign: Its id in this base.
        patience_s: How long each is tried again while the server is away; None as for everything else.

    Raises:
        KnowledgeAway: If the server is away; nothing is lost, and all of it can be delivered again.
        KnowledgeError: If the file is damaged or the base refuses it; with the line.
    """
    number = 0
    for number, posting in enumerate(spool.postings(), 1):
        try:
            base.post(campaign, posting, patience_s)
        except KnowledgeAway:
            raise
        except KnowledgeError as error:
            raise KnowledgeError(f"{spool.path}:{number + 1}: {error.message}", error.hint) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise KnowledgeError(f"{spool.path}:{number + 1}: no result of a campaign: {error!r}") from None
    spool.clear()
    return number


def deliver_file(base: KnowledgeBase, path: Path) -> Delivered:
    """The same with a file that a run has left behind.

    Raises:
        KnowledgeError: See ``deliver``; also if the base does not know its campaign, or its run goes on.
    """
    with closing(Spool(path)) as spool:
        campaign = base.campaign_of(spool.head.token)
        if campaign is None:
            raise KnowledgeError(
                f"{path}: the base {base.where} does not know its campaign, which was in {spool.head.base}",
                "name that base with --url, or remove the file if the campaign was deleted",
            )
        return Delivered(str(path), campaign, deliver(base, spool, campaign))


def deliver_folder(base: KnowledgeBase, folder: Path) -> tuple[tuple[Delivered, ...], tuple[KnowledgeError, ...]]:
    """Every spool of a folder: (what the base has taken, why it did not take others).

    Raises:
        KnowledgeAway: If the server is away.
    """
    done: list[Delivered] = []
    failed: list[KnowledgeError] = []
    for path in spools(folder):
        try:
            done.append(deliver_file(base, path))
        except KnowledgeAway:
            raise
        except KnowledgeError as error:
            failed.append(error)
    return tuple(done), tuple(failed)

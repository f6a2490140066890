"""Compiled variants: by the ticket that asked for them until they are measured, by digest for the whole campaign."""

from __future__ import annotations

from dataclasses import replace

from evaluator.accounts import Accounts
from evaluator.api import Compiled
from evaluator.farm import CompilerFarm
from evaluator.messages import Built, Prepared
from evaluator.plan import register_problem
from evaluator.result import Status
from genome.limits import DeviceLimits
from genome.variant import Variant

PROOF_TICKET = -1
"""Of the kernel as it is, and of finalists: limits on what the search may choose are not for them."""


class Binaries:
    """What the compilers were given, and what came of it.

    Args:
        farm: The compilers.
        accounts: Take what each compilation cost.
    """

    def __init__(self, farm: CompilerFarm, accounts: Accounts) -> None:
        self._farm, self._accounts = farm, accounts
        self._compiling: dict[int, Variant] = {}
        self._ready: dict[int, Prepared] = {}
        self._by_digest: dict[str, Prepared] = {}

    def submit(self, ticket: int, variant: Variant, compile_s: float, trial_s: float) -> None:
        """Queues a compilation; see ``CompilerFarm.submit``."""
        self._compiling[ticket] = variant
        self._farm.submit(ticket, variant, compile_s, trial_s)

    def take(self, ticket: int) -> Prepared | None:
        """The binary of a ticket, once; None if there is none (any more)."""
        return self._ready.pop(ticket, None)

    def known(self, digest: str) -> Prepared | None:
        """The binary of a variant that was compiled before."""
        return self._by_digest.get(digest)

    def collect(self, limits: DeviceLimits) -> list[Compiled]:
        """Compilations that have ended since the last call. One with too many registers cannot be taken."""
        return [self._event(built, limits) for built in self._farm.collect()]

    def _event(self, built: Built, limits: DeviceLimits) -> Compiled:
        variant = self._compiling.pop(built.ticket)
        self._accounts.add("compile", built.compile_s, refused=built.status is not Status.OK)
        event = Compiled(built.ticket, built.status, built.message, compile_s=built.compile_s)
        if built.binary is None:
            return event
        prepared = Prepared(variant, built.binary, built.compile_s)
        self._by_digest[variant.digest()] = prepared
        event = replace(event, resources=built.binary.resources)
        problem = register_problem(built.binary.resources, limits) if built.ticket != PROOF_TICKET else ""
        if problem:
            return replace(event, status=Status.LIMIT, message=problem)
        self._ready[built.ticket] = prepared
        return event

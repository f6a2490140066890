"""Compiled variants: by the ticket that asked for them until they are measured, by digest for the whole campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluator.accounts import Accounts
from evaluator.api import Compiled
from evaluator.farm import CompilerFarm
from evaluator.messages import Built, Prepared
from evaluator.plan import memory_problem, register_problem, static_problem
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from genome.limits import DeviceLimits
from genome.spec import KernelSpec
from genome.variant import Variant

PROOF_TICKET = -1
"""Of the kernel as it is, and of finalists: limits on what the search may choose are not for them."""

_GPU_FLOOR_S = 10.0  # of a deadline on a GPU, whose compilers share the machine with each other and with others


class Binaries:
    """What the compilers were given, and what came of it.

    Args:
        farm: The compilers.
        accounts: Take what each compilation cost.
        spec: The kernel.
        settings: Deadlines.
        limits: That a variant keeps to.
        memory_bytes: Of the device, for the arrays of one call; None where nobody looks.
        on_gpu: The compilers do not wait for one another.
    """

    def __init__(
        self, farm: CompilerFarm, accounts: Accounts, spec: KernelSpec, settings: EvaluatorSettings,
        limits: DeviceLimits, memory_bytes: int | None, on_gpu: bool,
    ) -> None:  # fmt: skip
        self._farm, self._accounts, self._spec, self._settings = farm, accounts, spec, settings
        self._limits, self._memory_bytes, self._on_gpu = limits, memory_bytes, on_gpu
        self._baseline: Sequence[Evaluation] = ()
        self._compiling: dict[int, Variant] = {}
        self._ready: dict[int, Prepared] = {}
        self._by_digest: dict[str, Prepared] = {}

    def judge_by(self, baseline: Sequence[Evaluation]) -> None:
        """Deadlines follow the baseline's times from now on."""
        self._baseline = baseline

    def submit(self, ticket: int, variant: Variant) -> Compiled | None:
        """Queues a compilation; or says at once why no device could run it."""
        problem, status = static_problem(self._spec, variant, self._limits), Status.LIMIT
        if not problem and self._memory_bytes is not None:
            problem, status = memory_problem(self._spec, variant, self._memory_bytes), Status.OUT_OF_MEMORY
        self._accounts.add("static limits", 0.0, refused=bool(problem))
        if problem:
            return Compiled(ticket, status, problem)
        self._compiling[ticket] = variant
        self._farm.submit(ticket, variant, *self._deadlines())
        return None

    def take(self, ticket: int) -> Prepared | None:
        """The binary of a ticket, once; None if there is none (any more)."""
        return self._ready.pop(ticket, None)

    def known(self, digest: str) -> Prepared | None:
        """The binary of a variant that was compiled before."""
        return self._by_digest.get(digest)

    def collect(self) -> list[Compiled]:
        """Compilations that have ended since the last call. One with too many registers cannot be taken."""
        return [self._event(built) for built in self._farm.collect()]

    def _deadlines(self) -> tuple[float, float]:
        """Seconds for a compilation, and for its first launch, which is a share of one run at some size."""
        times = [evaluation.timing.median_ms for evaluation in self._baseline if evaluation.timing]
        compile_s = self._baseline[0].compile_s if self._baseline else None
        return (
            self._settings.compile_deadline_s(compile_s, _GPU_FLOOR_S if self._on_gpu else 0.0),
            self._settings.run_deadline_s(max(times, default=None)),
        )

    def _event(self, built: Built) -> Compiled:
        variant = self._compiling.pop(built.ticket)
        self._accounts.add("compile", built.compile_s, refused=built.status is not Status.OK)
        event = Compiled(built.ticket, built.status, built.message, compile_s=built.compile_s)
        if built.binary is None:
            return event
        prepared = Prepared(variant, built.binary, built.compile_s)
        self._by_digest[variant.digest()] = prepared
        event = replace(event, resources=built.binary.resources)
        problem = register_problem(built.binary.resources, self._limits) if built.ticket != PROOF_TICKET else ""
        if problem:
            return replace(event, status=Status.LIMIT, message=problem)
        self._ready[built.ticket] = prepared
        return event

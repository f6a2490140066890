"""A compiler process: one job after another, each of which may abort or hang without harm to anybody else."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection

from evaluator.backend import Backend, BackendFailure
from evaluator.devices import open_backend
from evaluator.messages import Beat, Built, CompileJob, Setup
from evaluator.plan import bind
from evaluator.process import attach
from evaluator.result import Status
from evaluator.turn import Turn

_NICE = 5  # the process that feeds a GPU, and the one that thinks, come first


def build(backend: Backend, setup: Setup, job: CompileJob, connection: Connection) -> Built:
    """Compiles one variant; failures are values."""
    start = time.monotonic()
    digest = job.variant.digest()

    def notify(stage: str) -> None:
        allowed = job.trial_s if stage == "trial" else job.compile_s
        connection.send(Beat(stage, "", allowed, digest))

    sizes = (*setup.spec.check_sizes, *setup.spec.sizes)
    try:
        trials = [bind(setup.spec, job.variant, size) for size in sizes if job.variant.guard.holds(size.env)]
        binary = backend.compile(job.variant, trials, job.salt, notify)
    except BackendFailure as failure:
        return Built(job.ticket, failure.status, failure.message, None, time.monotonic() - start)
    return Built(job.ticket, Status.OK, "", binary, 0.0 if binary.cached else time.monotonic() - start)


def main() -> None:
    """Serves compile jobs until the parent goes."""
    connection = attach()
    setup: Setup = connection.recv()
    backend = open_backend(setup.device, setup.settings.compilations())
    if backend.info.kind == "gpu":
        os.nice(_NICE)
    turn = Turn(setup.session, backend.info.kind == "cpu")
    while True:
        job: CompileJob = connection.recv()
        connection.send(Beat("wait", variant=job.variant.digest()))
        with turn.compiling():
            built = build(backend, setup, job, connection)
        connection.send(built)


if __name__ == "__main__":
    main()

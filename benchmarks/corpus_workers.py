"""Processes that are killed at a deadline: a kernel on which the front end hangs costs itself, not the run."""

from __future__ import annotations

import multiprocessing
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from corpus_kernel import Examiner, Task

_STARTING_SECONDS = 120.0


def examined(
    tasks: Sequence[Task], jobs: int, deadline: float, compiles: bool
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """(task, record) in the order in which they finish.

    Args:
        tasks: What to do.
        jobs: Processes at a time.
        deadline: Seconds of a kernel; its record then holds ``hang`` with the stage that was on, or ``compiler`` where
            that was at work.
        compiles: Whether a compiler judges what is printed.
    """
    waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Task, dict[str, Any]] | None] = queue.SimpleQueue()
    for item in (*tasks, *[None] * jobs):
        waiting.put(item)
    for _ in range(jobs):
        threading.Thread(target=_lane, args=(waiting, done, deadline, compiles), daemon=True).start()
    ended = 0
    while ended < jobs:
        finished = done.get()
        if finished is None:
            ended += 1
        else:
            yield finished


def _lane(waiting: Any, done: Any, deadline: float, compiles: bool) -> None:
    worker = _Worker(compiles)
    while (task := waiting.get()) is not None:
        done.put((task, worker.examine(task, deadline)))
    worker.stop()
    done.put(None)


class _Worker:
    """One process, replaced when it was killed or died."""

    def __init__(self, compiles: bool) -> None:
        self.compiles = compiles
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.compiles), daemon=True)
        self.process.start()
        other.close()
        if not self.pipe.poll(_STARTING_SECONDS):
            raise RuntimeError("a worker does not start")
        self.pipe.recv()

    def examine(self, task: Task, deadline: float) -> dict[str, Any]:
        self.pipe.send(task)
        end, stage, known = time.monotonic() + deadline, "start", dict[str, Any]()
        while self.pipe.poll(max(0.0, end - time.monotonic())):
            try:
                answer = self.pipe.recv()
            except EOFError:
                return self._replaced(known | {"crash": {"stage": stage, "message": "the process died"}})
            if isinstance(answer, dict):
                return answer
            stage, known = answer
        kind = "compiler" if stage.startswith("compile") else "hang"
        return self._replaced(known | {kind: {"stage": stage, "message": f"more than {deadline:g} s"}})

    def _replaced(self, record: dict[str, Any]) -> dict[str, Any]:
        self.process.kill()
        self.process.join()
        self._start()
        return record

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection, compiles: bool) -> None:
    examiner = Examiner(compiles)
    pipe.send("ready")
    while True:
        pipe.send(examiner.examine(pipe.recv(), lambda stage, known: pipe.send((stage, known))))

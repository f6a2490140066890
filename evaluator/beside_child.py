"""The process that asks a numpy reference at the tuned sizes while the search goes on, and leaves the answers on disk.

It is the first that the system sacrifices where memory runs out, and has the lowest priority on the cores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.elements import Array
from evaluator.inputs import SETS, scalars
from evaluator.messages import Answered, Asking, AskPlan, Refused, Setup
from evaluator.oracle import Reference, normalise, widen
from evaluator.process import attach
from evaluator.reference_child import describe, load_function
from evaluator.session_inputs import session_inputs
from evaluator.store import input_file, save_answer
from evaluator.turn import Turn
from genome.spec import ArgSpec, ProblemSize

_POLL_S = 0.02


def main() -> None:
    """Entry of the process."""
    connection = attach()
    with suppress(OSError):
        os.nice(19)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    plan: AskPlan = connection.recv()
    setup, reference = plan.setup, plan.setup.reference
    if reference is None:
        return
    with Turn(setup.session, plan.pauses).background():
        try:
            function = load_function(reference.path, reference.function)
            for size in plan.sizes:
                _ask(setup, reference, function, size, connection)
        except _Ended as ended:
            connection.send(ended.refused)
        except (Exception, SystemExit) as error:  # the user's module may raise anything while it is imported
            connection.send(Refused(describe(error, reference.path)))
    connection.recv()  # its parent ends it


class _Ended(Exception):
    """There will be no further answers."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def _ask(
    setup: Setup, reference: Reference, function: Callable[..., Any], size: ProblemSize, connection: Connection
) -> None:
    """Answers at a size, for every input set.

    Raises:
        _Ended: If the reference fails, or the machine cannot hold what it needs.
    """
    name = f"{Path(reference.path).name}:{reference.function}"
    where = f"{name} at {size.label}"
    for which in range(SETS if setup.settings.defences.second_inputs else 1):
        connection.send(Asking(size, which))
        try:
            inputs = _inputs(setup, size, which)
            answer = normalise(setup.spec, size, function(inputs, size.env), name)
        except MemoryError:
            raise _Ended(Refused(f"{where}: it needs more memory than there is", fault=False)) from None
        except EvaluatorError as error:
            raise _Ended(Refused(str(error))) from error
        except (Exception, SystemExit) as error:  # the user's function may raise anything
            raise _Ended(Refused(f"{where}: {describe(error, reference.path)}")) from error
        try:
            save_answer(setup.session, setup.spec, size, which, answer)
        except OSError as error:
            raise _Ended(Refused(f"{where}: its answer cannot be kept: {error}", fault=False)) from error
    connection.send(Answered(size))


def _inputs(setup: Setup, size: ProblemSize, which: int) -> dict[str, Array]:
    """What the function gets: copies, which it may write to."""

    def generated(arg: ArgSpec, size: ProblemSize, which: int) -> Array:
        """The device process calls the user's generators."""
        path = input_file(setup.session, size, arg.name, which, "generated")
        while not path.exists():
            time.sleep(_POLL_S)
        values: Array = np.load(path, allow_pickle=False)
        return values

    perturb = setup.perturb and setup.settings.defences.perturb
    made = session_inputs(setup.session, setup.spec, size, setup.seed, which, perturb, 0, generated)
    arrays = {name: np.array(array) if array.dtype == np.uint64 else array for name, array in made.items()}
    return widen(arrays) | {name: np.asarray(value) for name, value in scalars(setup.spec, size).items()}


if __name__ == "__main__":
    main()

"""The process that asks a numpy reference at the tuned sizes while the search goes on, and leaves the answers on disk.

It is the first that the system sacrifices where memory runs out, and has the lowest priority on the cores.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.inputs import SETS, Array, scalars
from evaluator.messages import Answered, Asking, AskPlan, Refused, Setup
from evaluator.oracle import normalise, widen
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
    name = f"{Path(reference.path).name}:{reference.function}"
    size = plan.sizes[0]
    try:
        with Turn(setup.session, plan.pauses).background():
            function = load_function(reference.path, reference.function)
            for size in plan.sizes:
                for which in range(SETS if setup.settings.defences.second_inputs else 1):
                    inputs = _inputs(setup, size, which)
                    connection.send(Asking(size, which))
                    answer = normalise(setup.spec, size, function(inputs, size.env), name)
                    save_answer(setup.session, setup.spec, size, which, answer)
                connection.send(Answered(size))
    except MemoryError:
        connection.send(Refused(f"{name} at {size.label}: it needs more memory than there is", fault=False))
    except EvaluatorError as error:
        connection.send(Refused(str(error)))
    except (Exception, SystemExit) as error:  # the user's function may raise anything
        connection.send(Refused(f"{name} at {size.label}: {describe(error, reference.path)}"))
    connection.recv()  # its parent ends it


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

"""What the outputs must be: the user's numpy function in a process of its own, or their checker, or the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.elements import Array, host_dtype
from evaluator.plan import output_args
from evaluator.process import Child, ChildDied
from genome.spec import ArgSpec, KernelSpec, ProblemSize


@dataclass(frozen=True)
class Reference:
    """The user's own code that knows the right outputs.

    Attributes:
        path: A Python file.
        function: A function in it. ``numpy``: ``function(inputs, sizes)`` returns an array, a tuple in the order of
            the output arguments, or a dict by their names. ``checker``: ``function(inputs, outputs, sizes)`` returns
            True, or False, or a message that says what is wrong. ``inputs`` holds every in and inout array (as float64,
            integers as int64) and every scalar by name; ``sizes`` maps size names to integers.
        kind: ``numpy`` or ``checker``.
    """

    path: str
    function: str
    kind: str = "numpy"


def widen(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays as a reference sees them: floats as float64, integers as int64 (uint64 stays)."""
    return {
        name: array if array.dtype == np.uint64 else array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
        for name, array in arrays.items()
    }


class ReferenceProcess:
    """Calls a reference in a child process, with a deadline."""

    def __init__(self, reference: Reference, log: Path, timeout_s: float) -> None:
        self._reference, self._log, self._timeout_s = reference, log, timeout_s
        self._child: Child | None = None

    def outputs(self, spec: KernelSpec, size: ProblemSize, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Right outputs of a numpy reference, by argument name.

        Raises:
            EvaluatorError: If it raises, hangs, or returns something of another form.
        """
        return normalise(spec, size, self._call((inputs, size.env), size), self._name)

    def check(self, size: ProblemSize, inputs: Mapping[str, Any], outputs: Mapping[str, Array]) -> str:
        """Empty if the checker accepts these outputs, else its message.

        Raises:
            EvaluatorError: If it raises, hangs, or returns neither a bool nor a text.
        """
        answer = self._call((inputs, outputs, size.env), size)
        if isinstance(answer, (bool, np.bool_)):
            return "" if answer else f"{self._name} says no"
        if isinstance(answer, str):
            return answer
        raise EvaluatorError(
            f"{self._name} returned {type(answer).__name__}; a checker returns True, False or a message"
        )

    def generate(self, arg: ArgSpec, size: ProblemSize, seed: int) -> Any:
        """What a generator ``function(shape, sizes, seed)`` gives for an argument.

        Raises:
            EvaluatorError: If it raises or hangs.
        """
        return self._call((arg.extent(size.env), size.env, seed), size)

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    @property
    def _name(self) -> str:
        return f"{Path(self._reference.path).name}:{self._reference.function}"

    def _call(self, arguments: tuple[Any, ...], size: ProblemSize) -> Any:
        try:
            if self._child is None:
                self._child = Child("evaluator.reference_child", self._log, {})
                self._child.send((self._reference.path, self._reference.function))
            self._child.send(arguments)
            answer = self._child.receive(self._timeout_s)
        except ChildDied as error:
            self.close()
            raise EvaluatorError(f"{self._name} at {size.label}: its process {error}") from error
        if answer is None:
            self.close()
            raise EvaluatorError(f"{self._name} at {size.label}: no answer within {self._timeout_s:g} s")
        failed, value = answer
        if failed:
            self.close()
            raise EvaluatorError(f"{self._name} at {size.label}: {value}")
        return value


def normalise(spec: KernelSpec, size: ProblemSize, value: Any, name: str) -> dict[str, Array]:
    """A reference's answer as flat arrays by output name; floats in float64, integers in the argument's dtype.

    Raises:
        EvaluatorError: If outputs are missing, unknown, not numbers, or of another shape.
    """
    wanted = output_args(spec)
    names = ", ".join(arg.name for arg in wanted)
    if value is None or isinstance(value, (str, bytes)):
        what = "nothing (is its `return` missing?)" if value is None else "text"
        raise EvaluatorError(f"{name} returned {what} at {size.label}; the outputs are {names}")
    if isinstance(value, Mapping):
        found: dict[str, Any] = dict(value)
    else:
        parts = list(value) if isinstance(value, (tuple, list)) else [value]
        if len(parts) != len(wanted):
            raise EvaluatorError(f"{name} returned {len(parts)} arrays; the outputs are {names}")
        found = {arg.name: part for arg, part in zip(wanted, parts, strict=True)}
    if unknown := sorted(set(found) - {arg.name for arg in wanted}):
        raise EvaluatorError(f"{name} returned '{unknown[0]}', which is no output; the outputs are {names}")
    result = {}
    for arg in wanted:
        if arg.name not in found:
            raise EvaluatorError(f"{name} did not return '{arg.name}'; the outputs are {names}")
        array = np.asarray(found[arg.name])
        shape = arg.extent(size.env)
        if array.shape != shape:
            raise EvaluatorError(
                f"{name} returned '{arg.name}' with shape {array.shape} at {size.label}; the campaign says {shape}"
            )
        if array.dtype.kind not in "fiub":
            raise EvaluatorError(f"{name} returned '{arg.name}' as {array.dtype}; expected real numbers")
        integer = host_dtype(arg.dtype).kind in "iu"
        result[arg.name] = np.ascontiguousarray(array, arg.dtype if integer else np.float64).reshape(-1)
    return result

"""Opens the baseline, the user's own text, and sees whether the parsed form computes the same, once a campaign.

Every gene that touches the body starts from the parsed form. A mistake in reading the kernel would be in all of its
variants alike; against the text it shows before anything relies on the parsed form: in the compiler's code where one is
installed (the body as it was parsed), and in results on the device (its normal form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluator.api import EvaluatorError, Measured, NotCompiled
from evaluator.waiting import Say, silent
from evo.parts import Parts
from evo.trial import try_variant
from genome.genes import Genome
from genome.sizes import SizeExpr
from genome.spec import ProblemSize, Reading
from genome.variant import Rejection, Variant

_NUMBER = 900_000  # of trials, above those of everything else
_TEXT_ONLY = "only macros, block shape and options are tuned; please report this kernel"


@dataclass(frozen=True)
class Opened:
    """A campaign whose baseline was verified and timed.

    Attributes:
        parts: The parts, bound to the form of the kernel that can be trusted, with a note where that is not both.
        baseline: The untransformed kernel.
        measured: Its measurement.
    """

    parts: Parts
    baseline: Variant
    measured: Measured


def open_baseline(parts: Parts, tuned: Sequence[ProblemSize], say: Say = silent) -> Opened:
    """Lowers the untransformed kernel, has it verified and timed, and its parsed form compared with it (blocks).

    Args:
        parts: The parts of a campaign, which may rely on both forms of the kernel.
        tuned: Sizes at which the forms need no comparison: the check sizes are cheaper.
        say: Hears what takes long.

    Raises:
        EvaluatorError: If it cannot run here.
    """
    baseline = _untouched(parts)
    try:
        measured = parts.evaluator.open(baseline, say)
    except NotCompiled as error:
        return _open_parsed(parts, baseline, error, say)
    return Opened(_settled(parts, baseline, tuned), baseline, measured)


def _untouched(parts: Parts) -> Variant:
    variant = parts.lower(Genome())
    if isinstance(variant, Rejection):
        raise EvaluatorError(f"the kernel as it stands cannot run on this device: {variant.reason}")
    return variant


def _open_parsed(parts: Parts, text: Variant, error: NotCompiled, say: Say) -> Opened:
    """Opens the parsed form where the device's compiler cannot take the text in its language's words.

    Raises:
        NotCompiled: The one given, if the parsed form is the same text.
        EvaluatorError: If the parsed form cannot run either.
    """
    if parts.read_as is None:
        raise error
    parsed = parts.read_as(Reading.PARSED)
    baseline = _untouched(parsed)
    if baseline.digest() == text.digest():
        raise error
    measured = parts.evaluator.open(baseline, say)
    note = "the device's compiler does not take the kernel's own text: the baseline is its parsed form"
    return Opened(_noted(parsed, note), baseline, measured)


def _settled(parts: Parts, baseline: Variant, tuned: Sequence[ProblemSize]) -> Parts:
    """The parts as they are if both forms compute the same, else bound to the text alone."""
    if parts.read_as is None:
        return parts
    text = parts.read_as(Reading.TEXT)
    written = text.lower(Genome())
    if isinstance(written, Rejection):
        return _noted(parts, f"the baseline is the kernel's parsed form: {written.reason}")
    parsed = parts.read_as(Reading.PARSED).lower(Genome())
    if isinstance(parsed, Rejection) or parsed.digest() == baseline.digest():
        return parts
    if misread := parts.misreading():
        return _noted(text, f"{misread}: {_TEXT_ONLY}")
    for attempt in range(2):  # once more where the machine may be the cause
        trial = try_variant(parts.evaluator, _elsewhere(parsed, tuned), _NUMBER + attempt, lambda: False)
        if trial.measured is not None:
            return parts
    return _noted(text, f"the parsed kernel does not do what its text says ({trial.reason}): {_TEXT_ONLY}")


def _elsewhere(variant: Variant, sizes: Sequence[ProblemSize]) -> Variant:
    """The variant with a guard that keeps it from running at these sizes."""
    away = tuple(
        SizeExpr(f"not ({' and '.join(f'{name} == {value}' for name, value in size.values)})") for size in sizes
    )
    return replace(variant, guard=replace(variant.guard, conditions=(*variant.guard.conditions, *away)))


def _noted(parts: Parts, note: str) -> Parts:
    return replace(parts, notes=(*parts.notes, note))

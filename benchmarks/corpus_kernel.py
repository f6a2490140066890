"""What becomes of one kernel of the corpus, stage by stage. Runs in a process that may be killed."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.cuda.compile import language_options
from evaluator.cuda.nvrtc import Nvrtc
from genome.genes import Genome
from genome.ir.kernel import Kernel
from genome.ir.print_errors import PrintError
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Opaque, flatten
from genome.limits import DeviceLimits
from genome.moves import survey
from genome.sizes import SizeExpr
from genome.source.errors import SourceError
from genome.source.frontend import parse_opened
from genome.source.opening import open_kernel
from genome.source.preprocess import preprocess
from genome.source.round_trip import round_trip
from genome.source.slice import find_entry, items
from genome.source.template_guess import item_arguments
from genome.source.verbatim import as_text
from genome.spec import KernelSpec, LaunchSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

PLAIN = frozenset({"macro", "block_shape", "restrict", "fast_math", "launch_bounds", "specialise"})
"""Transforms that leave the statements as they are: options, qualifiers, macros, the launch's block."""

_LIBRARY = re.compile(r"\.(global|extern).* _ZN4cuda")  # constants of CUDA's standard library, used or not
_BLOCKS = {0: (256, 1, 1), 1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
_SIZE = 4096


@dataclass(frozen=True)
class Task:
    """A kernel and how its unit is read."""

    key: str
    folder: str
    unit: str
    entry: str
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]


class Examiner:
    """Examines one kernel after another; holds the compiler, if one is wanted."""

    def __init__(self, compiles: bool = True) -> None:
        self.nvrtc = Nvrtc() if compiles else None
        self.options = ("-arch=compute_90", "-DNDEBUG", *language_options())  # assert() holds a line and a text

    def examine(self, task: Task, stage: Callable[[str], None]) -> dict[str, Any]:
        """Everything that is known of the kernel in the end; ``stage`` is told what begins.

        A stage that fails leaves ``failure`` (stage and message), and the later ones out.
        """
        record: dict[str, Any] = {}
        path = str(Path(task.folder, task.unit))
        text = Path(path).read_text(errors="replace")
        given: dict[str, Any] = {"path": path, "defines": task.defines, "include_dirs": task.include_dirs}
        with _failing(record, "preprocess"):
            stage("preprocess")
            found = items(preprocess(text, path, task.defines, task.include_dirs).tokens)
            record["preprocessed"] = any(i.kind == "kernel" and i.body >= 0 and i.names[0] == task.entry for i in found)
        if not record.get("preprocessed"):
            return record
        entry = find_entry(found, task.entry, path)
        guess = item_arguments(found, entry)
        given["template_args"] = guess.arguments
        record["template"] = "none" if entry.template is None else "guessed" if guess.unsure else "literal"
        with _failing(record, "slice"):
            stage("slice")
            start = time.process_time()
            opened = open_kernel(text + "\n", task.entry, **given)  # another text than the one preprocessed above
            opening = time.process_time() - start
            record["sliced"] = True
            written = self._compile(record, "sliced", as_text(opened), stage)
        if not record.get("sliced"):
            return record
        with _failing(record, "parse"):
            stage("parse")
            start = time.process_time()
            kernel = parse_opened(opened, path)
            record["ready_ms"] = (time.process_time() - start + opening) * 1e3
            record["parsed"] = True
        if not record.get("parsed"):
            return record
        with _failing(record, "print"):
            back = self._compile(record, "back", round_trip(opened, path), stage)
            record["back_identical"] = bool(written) and back == written
        with _failing(record, "print normal"):
            normal = self._compile(record, "normal", kernel, stage)
            record["normal_identical"] = bool(written) and normal == written
        opaque = [stmt.text for stmt in flatten(kernel.body) if isinstance(stmt, Opaque)]
        record |= {"opaque": len(opaque), "opaque_text": opaque[:3], "axes": len(kernel.axes)}
        stage("transforms")
        with _failing(record, "transforms"):
            record["offered"], record["refused"] = _offers(_spec(text, task, kernel, given))
        return record

    def _compile(self, record: dict[str, Any], name: str, kernel: Kernel, stage: Callable[[str], None]) -> list[str]:
        """PTX of the printed kernel without comments; records whether there is any, else the first complaint.

        Nothing where there is no compiler, or nothing to compare with.
        """
        if self.nvrtc is None or record.get("sliced_compiles") is False:
            return []
        stage(f"compile {name}")
        result = self.nvrtc.ptx(print_kernel(kernel, Target.CUDA), "kernel.cu", self.options)
        record[f"{name}_compiles"] = result.ok
        if not result.ok:
            complaint = next((line for line in result.log.splitlines() if "error" in line), result.log[:200])
            record[f"{name}_log"] = complaint.strip()
        return comparable(result.cubin.decode(errors="replace"))


def comparable(ptx: str) -> list[str]:
    """Lines of PTX that a compiler acts upon."""
    lines = (re.sub(r"//.*", "", line).strip() for line in ptx.splitlines())
    return [line for line in lines if line and line != "\0" and not _LIBRARY.match(line)]


@contextmanager
def _failing(record: dict[str, Any], stage: str) -> Iterator[None]:
    """Keeps the first failure; anything but an error of the front end is a crash."""
    try:
        yield
    except (SourceError, PrintError) as error:
        message = error.message if isinstance(error, SourceError) else str(error)
        record.setdefault("failure", {"stage": stage, "message": message, "line": getattr(error, "line", 0)})
    except Exception as error:  # the finding of this bench: a traceback out of the front end
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
        record.setdefault("crash", {"stage": stage, "message": f"{type(error).__name__} at {place}: {error}"})


def _spec(text: str, task: Task, kernel: Kernel, given: dict[str, Any]) -> KernelSpec:
    """A campaign that grants nothing and tells no arguments: what transforms apply does not need their values."""
    block = _BLOCKS[len(kernel.axes)]
    extent = SizeExpr("N")
    used = max(("xyz".index(axis.dim) for axis in kernel.axes), default=0) + 1
    launch = LaunchSpec(block, (extent,) * used) if kernel.axes else LaunchSpec(block, grid=(extent,))
    return KernelSpec(
        task.entry, text, task.entry, (), launch, (ProblemSize((("N", _SIZE),)),),
        template_args=given["template_args"], defines=task.defines, include_dirs=task.include_dirs, path=given["path"],
    )  # fmt: skip


def _offers(spec: KernelSpec) -> tuple[list[str], list[str]]:
    """Names of the transforms that apply somewhere, and why others do not."""
    found, refused = survey(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    reasons = dict.fromkeys(f"{move.transform.name}: {move.reason}" for move in refused)
    return sorted({move.transform.name for move in found}), list(reasons)

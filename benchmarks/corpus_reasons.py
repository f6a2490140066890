"""Why kernels of the corpus fell out, most frequent first: what a developer would mend next."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
_EXAMPLES = 3
_ROWS = 25


def ranked(records: Sequence[tuple[str, Record]]) -> str:
    """One block a kind of failure: how many kernels, the reason with its names left out, and where three stand."""
    kinds: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file, record in records:
        place = f"{file}:{record.get('start', 0)} {record.get('entry', '')}"
        for kind, reason in _reasons(record):
            kinds[kind][general(reason)].append(place)
    blocks = []
    for kind, reasons in kinds.items():
        blocks.append(f"\n{kind}: {sum(map(len, reasons.values()))}")
        for reason, places in sorted(reasons.items(), key=lambda item: -len(item[1]))[:_ROWS]:
            blocks.append(f"{len(places):>6}  {reason}")
            blocks += [f"{'':>12}{place}" for place in places[:_EXAMPLES]]
    return "\n".join(blocks)


def _reasons(record: Record) -> list[tuple[str, str]]:
    found = []
    for kind in ("crash", "hang", "compiler", "failure"):
        if kind in record:
            found.append((f"{kind} in {record[kind]['stage']}", record[kind]["message"]))
    if not record.get("preprocessed") and not found:
        found.append(("not left by the preprocessor", "conditional, macro or includer"))
    if record.get("sliced_compiles") is False:
        found.append((f"does not compile as sliced, template {record['template']}", _complaint(record["sliced_log"])))
    if record.get("sliced_compiles"):
        for name in ("back", "normal"):
            if record.get(f"{name}_compiles") is False:
                found.append((f"compiles as sliced, but not {name}", _complaint(record[f"{name}_log"])))
        if record.get("back_compiles") and not record.get("back_identical"):
            found.append(("other PTX printed back", "other PTX"))
    return found


def _complaint(line: str) -> str:
    return re.sub(r"^\S*\(\d+\):\s*", "", line)


def general(reason: str) -> str:
    """The reason with long texts cut and numbers left out."""
    return re.sub(r"\b\d+\b", "n", reason)[:160]

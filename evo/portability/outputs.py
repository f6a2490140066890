"""Writes what a study found into its folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

from evo.portability.analysis import StudyReport
from evo.portability.as_csv import genes_csv, matrix_csv
from evo.portability.as_json import report_json
from evo.portability.charts import bars_png, heat_map_png
from evo.portability.page import study_html
from evo.report.files import write_atomic


def write_study(report: StudyReport, folder: Path) -> None:
    """``portability.json``, ``matrix.csv``, ``genes.csv``, ``portability.html``, and two pictures a kernel and size.

    Raises:
        OSError: If the folder cannot be written.
    """
    write_atomic(folder / "portability.json", json.dumps(report_json(report), indent=2) + "\n")
    write_atomic(folder / "matrix.csv", matrix_csv(report))
    write_atomic(folder / "genes.csv", genes_csv(report))
    for item in report.cases:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{item.case.kernel}-{item.case.size}")[:100]
        write_atomic(folder / f"{name}-heat.png", heat_map_png(item))
        write_atomic(folder / f"{name}-bars.png", bars_png(item))
    write_atomic(folder / "portability.html", study_html(report))

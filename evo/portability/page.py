"""``portability.html``: one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from evo.portability.analysis import CaseReport, StudyReport
from evo.portability.charts import bars_png, heat_map_png
from evo.portability.words import Table, case_tables, overall_table
from evo.report.markup import bullets, picture, section, table, text
from evo.report.style import CSS

_OWN = """
h2.kernel { font-size: 20px; margin: 34px 0 14px; }
.heat figure { max-width: none; margin-bottom: 26px; }
.many img { min-width: 520px; }
.bars img { min-width: 440px; }
th, td { vertical-align: middle; }
.below { font-size: 13.5px; color: var(--muted); margin-top: 12px; }
@media (max-width: 760px) {
  thead { display: table-header-group; }
  table { display: table; width: max-content; min-width: 100%; font-size: 13px; }
  tbody { display: table-row-group; }
  tr, tr:first-child, tr:last-child { display: table-row; padding: 0; border: 0; }
  td, tr:last-child td, td:first-child { display: table-cell; width: auto; padding: 7px 12px 7px 0;
    border-bottom: 1px solid var(--line); }
  td::before { content: none; }
}
td > div { max-width: 46ch; }
"""


def study_html(report: StudyReport) -> str:
    """The whole page."""
    body = [_header(report), *(part for item in report.cases for part in _case(item, report.changes))]
    if len(report.cases) > 1:
        body.append(_section(overall_table(report)))
    waiting = [f"{text(case)}: {text(name)} on {text(device)}" for case, name, device in report.waiting]
    if waiting:
        how = '<p class="note">Run the study on those machines on the same base (or join the bases) to fill them.</p>'
        body.append(section("Cells that wait", bullets(waiting), how))
    notes = [*report.notes, *(f"{item.case.label}: {note}" for item in report.cases for note in item.case.notes)]
    body.append(section("Notes", bullets([text(note) for note in notes])))
    body.append(section("How to read this", bullets([text(line) for line in _READING])))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(report.name)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{CSS}{_OWN}</style></head>\n'
        "<body><main>\n" + "\n".join(part for part in body if part) + "\n</main></body></html>\n"
    )


_READING = (
    "Efficiency: the best known time on a device over the variant's time there.",
    "PP: Pennycook's performance portability, the harmonic mean of the efficiencies over the device set that is named; "
    "0 where a device cannot run the variant.",
    "gap: the variant cannot run there, or is not in what was recorded. In parentheses: the efficiency of the nearest "
    "one that can; PP repaired counts those.",
    "A gene travels if it helps on every device beyond its interval, turns if it costs time on one, is bound if it "
    "pays together with others only, local if it helps somewhere, idle if nowhere.",
)


def _header(report: StudyReport) -> str:
    devices = dict.fromkeys(place.name for item in report.cases for place in item.case.places)
    measured = {item.case.places[place].name for item in report.cases for place in item.case.measured}
    best = [item.single.pp for item in report.cases if item.single.pp is not None]
    hero = ""
    if len(report.cases) == 1 and best:
        hero = (f'<div class="hero"><strong>{best[0]:.2f}</strong><span>performance portability of the best single '
                f"variant over {len(measured)} device{'s' * (len(measured) != 1)}</span></div>")  # fmt: skip
    lead = f"{len(report.cases)} kernel{'s' * (len(report.cases) != 1)} on {', '.join(devices)}"
    return f"<header><h1>{text(report.name)}</h1>{hero}<p class='muted'>{text(lead)}</p></header>"


def _case(report: CaseReport, changes: str) -> Sequence[str]:
    case = report.case
    heat = picture(heat_map_png(report), f"Efficiency of each champion on each device, {case.label}",
                   "Rows: the variant that is best on a device. Columns: where it runs. Hatched: it cannot run there; "
                   "in parentheses the nearest variant that can.")  # fmt: skip
    bars = picture(bars_png(report), f"Performance portability of each choice, {case.label}",
                   "Bars: performance portability over all devices. Marks: the least efficiency of all.")  # fmt: skip
    width, wide = 260 + 100 * len(case.places), " many" * (len(case.places) > 3)
    matrix, *others = case_tables(report, changes, intervals=True)
    return (
        f'<h2 class="kernel">{text(case.label)}</h2>',
        section(
            "Champions on other devices",
            f'<div class="heat{wide}" style="max-width:{width}px">{heat}</div><div class="bars">{bars}</div>',
        ),
        *(_section(part) for part in (matrix, *others)),
    )


def _section(part: Table) -> str:
    rows = [[text(value) for value in row] for row in part.rows]
    below = "".join(f"<div>{text(line)}</div>" for line in part.below)
    return section(part.title, table(part.titles, rows), f'<div class="below">{below}</div>' if below else "")

"""The look of the inspection page: the report's, wider, with a source listing, and dark on a dark system."""

from evo.report.style import CSS as REPORT_CSS

CSS = (
    REPORT_CSS
    + """
:root { color-scheme: light dark; --good: #0b5a53; --good-wash: #d9f2ec; --warn: #93330b; --warn-wash: #fde8dc;
  --mark: #fff7d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ef; --muted: #9aa7b8; --line: #2b3543; --paper: #161c26; --wash: #0e131b; --accent: #5cc9bd;
    --warm: #f0a36b; --good: #7fdccf; --good-wash: #12372f; --warn: #f4b48a; --warn-wash: #43240f; --mark: #3a3312; }
}
main { max-width: 1500px; }
h1 { font-size: 22px; }
h1 span { display: block; font-size: 14.5px; margin-top: 4px; overflow-wrap: anywhere; }
.lead p { font-size: 17px; max-width: 90ch; }
.lead p:last-child { margin-bottom: 0; }
ol.findings { margin: 0; padding: 0; list-style: none; counter-reset: finding; }
ol.findings li { counter-increment: finding; display: grid; grid-template-columns: 30px minmax(0, 1fr); gap: 0 10px;
  padding: 11px 0; border-bottom: 1px solid var(--line); margin: 0; }
ol.findings li:first-child { padding-top: 0; }
ol.findings li:last-child { border-bottom: 0; padding-bottom: 0; }
ol.findings li::before { content: counter(finding); width: 26px; height: 26px; border-radius: 50%; display: grid;
  place-items: center; font-size: 13px; font-weight: 650; background: var(--wash); color: var(--muted); }
ol.findings li.correctness::before, ol.findings li.blocked::before { background: var(--warn-wash); color: var(--warn); }
ol.findings li.grant::before { background: var(--good-wash); color: var(--good); }
ol.findings p { margin: 0; max-width: 100ch; }
.chips { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 7px; }
.chip { font-size: 12.5px; border-radius: 6px; padding: 1px 8px; background: var(--wash); color: var(--muted);
  text-decoration: none; border: 1px solid var(--line); overflow-wrap: anywhere; }
.chip.good { background: var(--good-wash); color: var(--good); border-color: transparent; }
.chip.warn { background: var(--warn-wash); color: var(--warn); border-color: transparent; }
.source { padding-left: 0; padding-right: 0; }
.source h2, .source > p { padding: 0 24px; }
.row { display: grid; grid-template-columns: minmax(190px, 1fr) minmax(0, 2.2fr) minmax(230px, 1.2fr); gap: 0 20px;
  padding: 1px 24px; align-items: start; scroll-margin-top: 20px; }
.row.noted { padding-top: 4px; padding-bottom: 4px; border-top: 1px solid var(--line); }
.row.noted + .row:not(.noted) { border-top: 1px solid var(--line); }
.row:target { background: var(--mark); }
.row .line { display: grid; grid-template-columns: 40px minmax(0, 1fr); gap: 12px; font: 13px/1.6 var(--mono); }
.row .line a { color: var(--muted); text-align: right; text-decoration: none; user-select: none; }
.row .line code { background: none; padding: 0; font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere; }
.row .line code.hidden { color: var(--muted); font-style: italic; }
.notes { display: flex; flex-direction: column; gap: 3px; font-size: 13px; line-height: 1.45; padding-top: 1px; }
.notes.sees { text-align: right; color: var(--muted); }
.notes span { overflow-wrap: anywhere; }
.notes .good { color: var(--good); }
.notes .warn { color: var(--warn); }
@media (max-width: 1080px) {
  .row { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
  .row .line { grid-column: 1; grid-row: 1 / span 2; }
  .row .notes { grid-column: 2; }
  .notes.sees { text-align: left; }
}
@media (max-width: 760px) {
  h1 { font-size: 19px; }
  .source h2, .source > p { padding: 0 16px; }
  .row { display: flex; flex-direction: column; padding-left: 12px; padding-right: 12px; }
  .row .line { order: -1; }
  .row .line { grid-template-columns: 28px minmax(0, 1fr); gap: 8px; }
  .row .notes { padding: 2px 0 2px 36px; }
  td, tr:last-child td { flex-wrap: wrap; gap: 2px 16px; }
  td > div { min-width: 0; overflow-wrap: anywhere; }
}
"""
)

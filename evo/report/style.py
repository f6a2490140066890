"""The look of ``report.html``: light, quiet, readable on a phone and on a wide screen."""

CSS = """
:root { --ink: #1c2430; --muted: #5b6675; --line: #e4e8ee; --paper: #ffffff; --wash: #f6f8fa; --accent: #0f766e;
  --warm: #c2410c; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--wash); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
header { margin-bottom: 28px; }
h1 { font-size: 17px; font-weight: 600; margin: 0; }
h1 span { color: var(--muted); font-weight: 400; }
h2 { font-size: 15px; font-weight: 650; margin: 0 0 14px; }
p { margin: 0 0 10px; max-width: 74ch; }
.muted { color: var(--muted); }
.note { color: var(--muted); margin: 16px 0 6px; font-size: 14.5px; }
.hero { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; margin: 14px 0 6px; }
.hero strong { font-size: clamp(48px, 9vw, 84px); line-height: 1; letter-spacing: -0.03em; font-weight: 700;
  color: var(--accent); }
.hero.none strong { color: var(--muted); font-size: clamp(30px, 6vw, 46px); letter-spacing: -0.02em; }
.hero span { font-size: 18px; color: var(--muted); }
.badge { display: inline-block; border-radius: 999px; padding: 2px 11px; font-size: 13px; font-weight: 600; }
.badge.good { background: #d9f2ec; color: #0b5a53; }
.badge.bad { background: #fde8dc; color: #93330b; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 12px; padding: 22px 24px;
  margin: 0 0 18px; }
.cards { display: flex; flex-wrap: wrap; gap: 1px; padding: 0; background: var(--line); overflow: hidden; }
.cards div { background: var(--paper); padding: 14px 16px; flex: 1 1 104px; }
.cards b { display: block; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.25; }
.cards span { font-size: 13px; color: var(--muted); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 18px; }
.pair section { margin: 0; min-width: 0; }
.pair { margin-bottom: 18px; }
figure { margin: 0; max-width: 720px; }
.wide figure { max-width: none; }
img { display: block; width: 100%; height: auto; }
figcaption { font-size: 13.5px; color: var(--muted); margin-top: 8px; }
figure + ul { margin-top: 10px; font-size: 14.5px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--muted); font-size: 13px; padding: 0 14px 6px 0;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 9px 14px 9px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; padding-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; white-space: nowrap; }
.n + :not(.n) { padding-left: 14px; }
.bar { position: relative; height: 8px; border-radius: 4px; background: var(--line); min-width: 90px; margin-top: 7px; }
.bar i { position: absolute; inset: 0 auto 0 0; border-radius: 4px; background: var(--accent); }
code { font-family: var(--mono); font-size: 0.88em; background: var(--wash); border-radius: 5px; padding: 1px 5px;
  overflow-wrap: anywhere; }
pre { font-family: var(--mono); font-size: 13px; line-height: 1.5; background: var(--wash); border-radius: 8px;
  border: 1px solid var(--line); padding: 12px 14px; margin: 0 0 12px; overflow-x: auto; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
ul { margin: 0; padding-left: 20px; }
li { margin-bottom: 5px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0; font-size: 14.5px; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 760px) {
  main { padding: 24px 14px 40px; }
  section { padding: 18px 16px; border-radius: 10px; }
  .cards { padding: 0; }
  .cards div { padding: 12px; flex-basis: 30%; }
  .wide img { width: 640px; max-width: none; }
  thead { display: none; }
  table, tbody, tr, td { display: block; width: 100%; }
  tr { padding: 10px 0; border-bottom: 1px solid var(--line); }
  tr:first-child { padding-top: 0; }
  tr:last-child { border-bottom: 0; padding-bottom: 0; }
  td, tr:last-child td { display: flex; justify-content: space-between; gap: 16px; border: 0; padding: 2px 0; }
  td::before { content: attr(data-title); color: var(--muted); font-size: 13px; padding-top: 1px; }
  td:first-child { padding-bottom: 6px; }
  td:first-child::before { content: none; }
  .n + :not(.n) { padding-left: 0; }
  .bar { min-width: 120px; margin: 4px 0; }
  .pair { grid-template-columns: 1fr; }
  .hero span { font-size: 16px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
}
"""

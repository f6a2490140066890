"""Pictures of a campaign as PNG bytes, by matplotlib's object interface (no global state, no display)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from evaluator.result import DeviceInfo, Profile
from evo.result import AgentTally, CampaignResult, CreditPoint

INK, MUTED, GRID, ACCENT, WARM = "#1c2430", "#697586", "#e4e8ee", "#0f766e", "#c2410c"
PALETTE = ("#0f766e", "#2563eb", "#c2410c", "#7c3aed", "#b45309", "#be185d", "#4d7c0f", "#0e7490", "#475569")
_SINGLE, _DOUBLE, _DPI = (5.6, 3.7), (9.6, 3.5), 160


def convergence_png(result: CampaignResult) -> bytes:
    """Speed-up of every finished proposal, and the best so far, against fresh measurements."""
    figure, axes = _figure()
    good = [point for point in result.history if point.speedup is not None]
    bad = [point for point in result.history if point.speedup is None]
    if good:
        axes.scatter([p.evaluation for p in good], [p.speedup or 0 for p in good], s=14, color=MUTED, alpha=0.55,
                     linewidths=0, label="a variant", zorder=2)  # fmt: skip
        axes.plot([p.evaluation for p in result.history], [max(p.best, 1e-9) for p in result.history],
                  color=ACCENT, linewidth=2, drawstyle="steps-post", label="best so far", zorder=3)  # fmt: skip
        _log_if_wide(axes, [p.speedup or 1 for p in good])
    if bad:
        axes.scatter([p.evaluation for p in bad], [0.02] * len(bad), s=16, color=WARM, marker="x", linewidths=1,
                     transform=axes.get_xaxis_transform(), label="wrong or failed", zorder=2)  # fmt: skip
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xlabel("measurements")
    axes.set_ylabel("speed-up")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(axes)
    return _png(figure)


def agents_png(result: CampaignResult) -> bytes:
    """What each agent proposed and gained, and how the learned policy shared out its choices."""
    figure = Figure(figsize=_DOUBLE, dpi=_DPI, layout="constrained")
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.15]})
    credited = [name for point in result.credit for name, _ in point.shares]
    names = dict.fromkeys([*(tally.agent for tally in result.agents), *credited])
    colours = {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}
    _tally_bars(left, result.agents, colours)
    _credit_area(right, result.credit, colours)
    return _png(figure)


def _tally_bars(axes: Axes, agents: Sequence[AgentTally], colours: dict[str, str]) -> None:
    _style(axes)
    rows = sorted((tally for tally in agents if tally.measured), key=lambda tally: tally.measured)
    places = range(len(rows))
    axes.barh(places, [t.measured for t in rows], color=GRID, height=0.72, label="measured")
    axes.barh(places, [t.gains for t in rows], color=[colours[t.agent] for t in rows], height=0.72)
    for place, tally in enumerate(rows):
        text = f" {tally.gains} of {tally.measured}" + (f", {tally.records} best" if tally.records else "")
        axes.text(tally.measured, place, text, va="center", fontsize=7, color=MUTED)
    axes.set_yticks(list(places), [t.agent for t in rows])
    axes.set_xlim(0, max([t.measured for t in rows], default=1) * 1.5 + 1)
    axes.set_title("gains over the parent, of all measured", fontsize=8, color=MUTED, loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y", visible=False)


def _credit_area(axes: Axes, credit: Sequence[CreditPoint], colours: dict[str, str]) -> None:
    _style(axes)
    axes.set_title("share of the next proposals", fontsize=8, color=MUTED, loc="left")
    if len({point.proposals for point in credit}) < 2:
        axes.text(0.5, 0.5, "too few proposals", ha="center", va="center", color=MUTED, transform=axes.transAxes)
        axes.set_axis_off()
        return
    names = list(dict.fromkeys(name for point in credit for name, _ in point.shares))
    places = [point.proposals for point in credit]
    shares = [[dict(point.shares).get(name, 0.0) for point in credit] for name in names]
    axes.stackplot(places, shares, labels=names, alpha=0.9, linewidth=0, colors=[colours[name] for name in names])
    axes.set_xlim(places[0], places[-1])
    axes.set_ylim(0, 1)
    axes.set_xlabel("proposals")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize=6.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5),
                handlelength=0.9, handleheight=0.9)  # fmt: skip


def roofline_png(device: DeviceInfo, before: Mapping[str, Profile], after: Mapping[str, Profile]) -> bytes | None:
    """Placement by size, before and after, below the device's roofline; None where nothing is known of the work."""
    placed = [(label, before[label], after.get(label)) for label in before if _placed(before[label])]
    if not placed:
        return None
    figure, axes = _figure()
    points = [profile for _, first, second in placed for profile in (first, second) if profile and _placed(profile)]
    _roof(axes, device, points)
    for number, (label, first, second) in enumerate(placed):
        colour = PALETTE[number % len(PALETTE)]
        # Sizes of one kernel often share an intensity: neighbours stand side by side, a few hundredths apart.
        beside = 1.05 ** (number - (len(placed) - 1) / 2)
        moved = second is not None and _placed(second)
        axes.scatter([first.intensity * beside], [first.gflops], s=46, facecolors="white", edgecolors=colour,
                     linewidths=1.6, zorder=4, label=None if moved else label)  # fmt: skip
        if second and moved:
            arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.4, "shrinkA": 5, "shrinkB": 5}
            axes.annotate("", xy=(second.intensity * beside, second.gflops), arrowprops=arrow, zorder=3,
                          xytext=(first.intensity * beside, first.gflops))  # fmt: skip
            axes.scatter([second.intensity * beside], [second.gflops], s=46, color=colour, zorder=4, label=label)
    axes.set_xlabel("arithmetic intensity, FLOP/byte")
    axes.set_ylabel("GFLOP/s")
    _legend(axes, title="before (open) and after (filled)" if after else "")
    return _png(figure)


def _placed(profile: Profile) -> bool:
    return profile.flops > 0 and profile.bytes > 0 and profile.gflops > 0


def _roof(axes: Axes, device: DeviceInfo, points: Sequence[Profile]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    intensities = [point.intensity for point in points]
    low, high = min(intensities) / 8, max(intensities) * 8
    tops = [point.gflops for point in points]
    if device.bandwidth_gbs and device.peak_gflops:
        ridge = device.peak_gflops / device.bandwidth_gbs
        low, high = min(low, ridge / 4), max(high, ridge * 4)
        xs = [low, ridge, high]
        axes.plot(xs, [min(device.peak_gflops, x * device.bandwidth_gbs) for x in xs], color=INK, linewidth=1.3)
        axes.text(high, device.peak_gflops * 1.08, f"{device.peak_gflops:.0f} GFLOP/s", ha="right", va="bottom",
                  fontsize=7, color=MUTED)  # fmt: skip
        axes.text(ridge / 1.6, device.bandwidth_gbs * ridge / 1.6, f"{device.bandwidth_gbs:.0f} GB/s ", ha="right",
                  va="bottom", fontsize=7, color=MUTED)  # fmt: skip
        tops.append(device.peak_gflops)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlim(low, high)
    axes.set_ylim(min(tops) / 3, max(tops) * 2.2)


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SINGLE, dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    _style(axes)
    return figure, axes


def _style(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
        axes.spines[side].set_linewidth(0.8)
    axes.tick_params(colors=MUTED, labelsize=8, width=0.8, length=3, which="major")
    axes.tick_params(which="minor", length=0)
    axes.xaxis.label.set(color=INK, fontsize=9)
    axes.yaxis.label.set(color=INK, fontsize=9)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def _log_if_wide(axes: Axes, values: Sequence[float]) -> None:
    positive = [value for value in values if value > 0]
    if positive and max(positive) / min(positive) > 8:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))


def _legend(axes: Axes, title: str | None = None) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        legend = axes.legend(handles, labels, fontsize=8, frameon=False, labelcolor=INK, title=title, title_fontsize=8)
        legend.get_title().set_color(MUTED)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png")
    return buffer.getvalue()

"""The parts of ``report.html``."""

from __future__ import annotations

from evo.campaign_types import Campaign
from evo.report.changes import Describe, gene_text
from evo.report.markup import bar, bullets, code, facts, picture, section, table, text
from evo.report.summary import before_and_after, launch_text, three, times
from evo.result import CampaignResult, SurrogateReport


def cards(result: CampaignResult) -> str:
    """The totals in a row."""
    counts = result.counts
    minutes, seconds = divmod(round(result.elapsed_s), 60)
    values = (
        ("measured", counts.evaluations), ("looked up", counts.cached), ("pruned", counts.pruned),
        ("rejected", counts.rejected), ("wrong", counts.wrong), ("failed", counts.failed),
        ("minutes", f"{minutes}:{seconds:02}"),
    )  # fmt: skip
    inner = "".join(f"<div><b>{text(value)}</b><span>{text(name)}</span></div>" for name, value in values)
    return f'<section class="cards">{inner}</section>'


def sizes_part(result: CampaignResult) -> str:
    """Times and speed-ups by size."""
    rows = [
        [code(row.size), *map(text, before_and_after(row)),
         f"<b>{text(times(row.speedup))}</b>", text(f"{times(row.low)} to {times(row.high)}")]
        for row in result.comparison.sizes
    ]  # fmt: skip
    titles = ["size", "before", "after", "speed-up", "95% interval"]
    if result.comparison.looked_up:
        titles, rows = titles[:-1], [row[:-1] for row in rows]
    body = table(titles, rows, numeric=range(1, len(titles)))
    fallbacks = [check.size for check in result.comparison.checks if check.fallback]
    evolved = result.comparison.coverage.evolved
    ran = f"The evolved kernel itself was verified at {len(evolved)} sizes that it was not tuned on."
    notes = [ran] * bool(evolved)
    notes += [f"The kernel as it was runs at: {'; '.join(fallbacks)}."] * bool(fallbacks)
    note = f'<p class="note">{text(" ".join(notes))}</p>' if notes else ""
    return section("Sizes", body, note)


def genes_part(result: CampaignResult, describe: Describe) -> str:
    """The gene table, and what was left out."""
    shares = {share.gene: share for share in result.explanation}
    rows = []
    for gene in result.best.genome.genes:
        share = shares.get(gene)
        factor = three(share.factor) if share and share.factor is not None else "-"
        note = f'<br><span class="muted">{text(share.note)}</span>' if share and share.note else ""
        worth = f"{share.share:.0%}{bar(share.share)}" if share and share.factor is not None else "-"
        rows.append([f"{text(describe(gene))}<br>{code(gene_text(gene))}{note}", text(factor), worth])
    if not rows:
        return '<p class="muted">Nothing was changed.</p>'
    if shares:
        body = table(("change", "worth a factor of", "share of the gain"), rows, numeric=(1,))
    else:
        body = table(("change",), [row[:1] for row in rows])
    skipped = [f"{text(describe(s.gene))}: {text(s.reason)}" for s in result.best.skipped]
    how = "Each factor is measured by leaving out that one change." if shares else "No change was measured on its own."
    note = f'<p class="note">{how}</p>'
    left_out = f'<p class="note">Proposed, but left out:</p>{bullets(skipped)}' if skipped else ""
    return body + note + left_out


def convergence_part(png: bytes) -> str:
    """Every variant and the best so far."""
    return picture(
        png,
        "Speed-up against measurements",
        "Each dot is a measured variant, the line the best so far: estimates of the search. "
        "The figure on top comes from the final comparison.",
    )


def agents_part(png: bytes) -> str:
    """What the agents did."""
    return picture(
        png,
        "Agents: gains and share of the proposals",
        "Left: how often an agent's variants beat their parents. Right: how the learned policy shares out proposals.",
    )


def roofline_part(result: CampaignResult, png: bytes | None) -> str:
    """Placement below the roofline, and what limits the kernel."""
    if png is None:
        return ""
    verdicts = []
    after = dict(result.profile_after)
    for label, profile in result.profile_before:
        later = after.get(label)
        verdict = f"{code(label)} {text(profile.bottleneck)}"
        if later:
            verdict += f" &rarr; {text(later.bottleneck)}, {later.roofline_fraction:.0%} of the roofline"
        verdicts.append(verdict)
    caption = "Compulsory traffic, each array once; peaks as the device states them or the model estimates them."
    return picture(png, "Roofline before and after", caption) + bullets(verdicts)


def surrogate_part(campaign: Campaign, result: CampaignResult) -> str:
    """How good the predictions were of the model that is asked before compiling, and of the one asked after it."""
    if not campaign.surrogate:
        return '<p class="muted">Switched off.</p>'
    after = result.timing_surrogate
    second = f"<h3>After compiling</h3>{_surrogate(after, 'after compiling, before timing')}" if after.fits else ""
    return _surrogate(result.surrogate, "before compiling") + second


def _surrogate(report: SurrogateReport, when: str) -> str:
    rank = "too few rows" if report.rank_correlation is None else f"{report.rank_correlation:.2f}"
    recall = "too few rows" if report.recall_best_decile is None else f"{report.recall_best_decile:.0%}"
    sure = "too few rows" if report.calibration is None else f"{report.calibration:.0%}"
    return facts(
        (
            ("trained on", f"{report.rows} rows, {report.fits} times"),
            ("discarded", f"{report.pruned} variants {when}"),
            ("let pass untouched", f"{report.forced} variants, to see its mistakes"),
            ("rank correlation", f"{rank} <span class='muted'>of prediction and measurement; 1 is perfect</span>"),
            ("recall", f"{recall} <span class='muted'>of the best tenth that it would have kept</span>"),
            ("calibration", f"{sure} <span class='muted'>within one standard deviation of it; 68% is right</span>"),
            (
                "device time saved",
                f"{report.saved_s:.1f} s <span class='muted'>had they taken what others took</span>",
            ),
        )
    )


def stages_part(result: CampaignResult) -> str:
    """Each stage of the cascade: variants that reached it, ended there, and seconds; then the phases of the run."""
    rows = [
        [text(cost.stage), str(cost.entered), str(cost.refused), f"{cost.seconds:.1f}"]
        for cost in result.costs
        if cost.entered
    ]
    spent = ", ".join(f"{text(phase)} {seconds:.1f}" for phase, seconds in result.phases)
    wall = f'<p class="muted">Seconds on the clock: {spent}.</p>' if spent else ""
    return table(("stage", "variants", "ended there", "seconds"), rows, numeric=(1, 2, 3)) + wall if rows else wall


def archive_part(result: CampaignResult) -> str:
    """Further elites, and what was thrown out."""
    rows = [
        [code(f"variant-{number}.cu"), f"<b>{text(times(entry.speedup))}</b>", text(entry.agent), text(entry.behaviour)]
        for number, entry in enumerate(result.alternatives[:3], 2)
    ]
    body = table(("file", "in the search", "agent", "shape"), rows, numeric=(1,))
    if result.quarantined:
        thrown = [f"{text(times(q.speedup))} by {text(q.agent)}: {text(q.reason)}" for q in result.quarantined]
        body += f'<p class="note">Looked good and were thrown out:</p>{bullets(thrown)}'
    return body


def usage_part(campaign: Campaign, result: CampaignResult) -> str:
    """How to build and call the result."""
    entry = campaign.spec.entry
    arguments = ", ".join(arg.name for arg in campaign.spec.args)
    guard = [code(condition) for condition in result.best.guard.conditions]
    guard += [f"{code(name)} is a multiple of {by} bytes" for name, by in result.best.guard.alignments]
    guarded = f"<p>It applies where all of these hold; elsewhere the kernel as it was runs:</p>{bullets(guard)}"
    return (
        f"<p>{code('best.cu')} holds the evolved kernel, the kernel as it was, and a host launcher. Compile it with "
        f"{code('nvcc -O3 -c best.cu')} and call:</p>"
        f"<pre><code>cudaError_t status = launch_{text(entry)}({text(arguments)}, stream);</code></pre>"
        f"<p class='muted'>Launch on {text(result.toolchain.platform)}: {text(launch_text(result.best))}"
        f"{text('; options ' + ' '.join(result.best.options) if result.best.options else '')}.</p>"
        + (guarded if guard else "")
        + "<p>Again, with the same random choices:</p>"
        f"<pre><code>evo-tune run {text(campaign.path.name)} --seed {result.seed}</code></pre>"
    )


def environment_part(campaign: Campaign, result: CampaignResult) -> str:
    """Everything that a figure depends on."""
    device = result.device
    units = "SMs" if device.kind == "gpu" else "cores"
    peaks = [f"{device.bandwidth_gbs:.0f} GB/s"] if device.bandwidth_gbs else []
    peaks += [f"{device.peak_gflops:.0f} GFLOP/s"] if device.peak_gflops else []
    return facts(
        (
            ("device", text(f"{device.name} ({device.id}), {device.units} {units}, "
                            f"{device.memory_bytes / 2**30:.1f} GiB")),
            ("peaks", text(", ".join(peaks))),
            ("platform", text(result.toolchain.label)),
            ("seed", text(result.seed)),
            ("stopped by", text(result.stop)),
            ("variant", code(result.best.digest())),
            ("campaign", text(campaign.name + (f", number {result.campaign_id}" if result.campaign_id else ""))),
            ("versions", text(", ".join(f"{name} {number}" for name, number in result.versions.items()))),
        )
    )  # fmt: skip

"""``evo-tune verify``: proves a result again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cli.errors import LOST
from evo.entries_verify import WholeClaim, WholeVerification, read_whole, verify_whole, whole_verification_json
from evo.report.summary import milliseconds, times
from evo.verify import Verification, read_claim, verification_json
from evo.verify import verify as verify_claim

_ENOUGH = 5  # processes over which the interval covers the true median in 94% of cases


@click.command()
@click.argument("best", type=click.Path(path_type=Path))
@click.option("--campaign", type=click.Path(path_type=Path), help="The campaign file, where it has moved.")
@click.option("--device", help="auto, opencl:N or cuda:N; as in the campaign if not given.")
@click.option("--processes", type=click.IntRange(1), help="Fresh processes; as in the campaign if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")
def verify(best: Path, campaign: Path | None, device: str | None, processes: int | None, as_json: bool) -> None:
    """Repeats the whole proof of the BEST.json of a run: right at every size, and faster in fresh processes.

    Exit code 0 if the claim holds; 3 if the result is wrong, or was claimed to be faster than the kernel as it is and
    is not. A result that claimed no gain has none to lose.
    """
    whole = read_whole(best, campaign)
    if whole is not None:
        holds = _several(whole, device, processes, as_json)
    else:
        holds = _one(best, campaign, device, processes, as_json)
    if not holds:
        raise click.exceptions.Exit(LOST)


def _one(best: Path, campaign: Path | None, device: str | None, processes: int | None, as_json: bool) -> bool:
    claim = read_claim(best, campaign)
    result = verify_claim(claim, device=device, processes=processes, progress=_say, say=_remark)
    if as_json:
        click.echo(json.dumps(verification_json(result), indent=2))
    else:
        for line in lines(result):
            click.echo(line)
    return result.holds


def _several(claim: WholeClaim, device: str | None, processes: int | None, as_json: bool) -> bool:
    def say(name: str, done: int, of: int) -> None:
        click.echo(f"{name}: process {done} of {of}", err=True)

    result = verify_whole(claim, device=device, processes=processes, progress=say, say=_remark)
    if as_json:
        click.echo(json.dumps(whole_verification_json(result), indent=2))
    else:
        for line in whole_lines(result):
            click.echo(line)
    return result.holds


def whole_lines(result: WholeVerification) -> list[str]:
    """The verification of several entries for a person."""
    found = [line for name, entry in result.entries for line in (f"{name}:", *(f"  {text}" for text in lines(entry)))]
    if result.whole is not None:
        now, then = result.whole.speedup, result.claim.speedup
        found.append(f"together: {times(now['median'])} ({times(now['low'])} to {times(now['high'])}), "
                     f"claimed {times(then[0])}")  # fmt: skip
    if result.claim.untouched:
        found.append(f"not tuned, and not looked at: {', '.join(result.claim.untouched)}")
    return found


def lines(result: Verification) -> list[str]:
    """The verification for a person."""
    comparison, claim = result.comparison, result.claim
    if not comparison.verified:
        return [f"NOT VERIFIED on {result.device.name}: {comparison.message}"]
    then = f"{times(claim.speedup[0])} ({times(claim.speedup[1])} to {times(claim.speedup[2])}) on {claim.device}"
    now = f"{times(comparison.speedup)} ({times(comparison.low)} to {times(comparison.high)}) on {result.device.name}"
    found = [f"verified at {len(comparison.sizes)} tuned and {len(comparison.checks)} further sizes, "
             f"in {comparison.processes} fresh processes", f"  claimed: {then}", f"  now:     {now}"]  # fmt: skip
    for row in comparison.sizes:
        before, after = milliseconds(row.baseline_ms), milliseconds(row.best_ms)
        found.append(f"  {row.size}: {before} -> {after}, {times(row.speedup)}")
    if comparison.checks:  # a kernel that is compiled for its size has none
        aside = sum(check.fallback for check in comparison.checks)
        ran = f"{len(comparison.checks) - aside} of the further sizes" if aside else "all of the further sizes"
        found.append(f"  {ran} ran the evolved kernel{', the others its fallback' if aside else ''}")
    if comparison.processes < _ENOUGH:
        found.append(f"  from fewer than {_ENOUGH} processes: the interval is narrower than it should be")
    if not result.same_text:
        found.append("  its genes give another text than they gave then (target, kernel file or version changed)")
    if comparison.note:
        found.append(f"  {comparison.note}")
    if not result.faster:
        found.append("  it is not faster than the kernel as it is, beyond the interval")
    return found


def _remark(text: str) -> None:
    click.echo(text, err=True)


def _say(done: int, of: int) -> None:
    click.echo(f"process {done} of {of}", err=True)

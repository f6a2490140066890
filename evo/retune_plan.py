"""Which champions have to be looked at again on the platform at hand, and which campaigns they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from evaluator.api import EvaluatorError
from evaluator.devices import facts_of
from evaluator.objective import Kind
from evaluator.result import DeviceInfo, Toolchain
from evo.campaign_replay import PREFIX
from evo.campaign_types import Campaign
from evo.contract import contract
from evo.retune_campaigns import Absent
from evo.retune_verdict import Figure
from evo.wire import build
from genome.replay import spec_kernel
from knowledge.champions import Champion
from knowledge.encode import fingerprint
from knowledge.features import device_features, kernel_record
from knowledge.similarity import vector_distance

_UNKNOWN = "the base holds no finished campaign of its kernel as it is now, at its sizes: `evo-tune run` makes one"


@dataclass(frozen=True)
class Platform:
    """What a campaign would run on now.

    Attributes:
        device, toolchain: As the evaluator would tell.
        version: Of evo-tune; empty where it plays no part.
        contract: What counts as right in the campaign.
        kernel_digest: Of the campaign's kernel.
    """

    device: DeviceInfo
    toolchain: Toolchain
    version: str
    contract: str
    kernel_digest: str


@dataclass(frozen=True)
class Case:
    """A champion that has to be looked at again, with the campaign that says how."""

    campaign: Campaign
    champion: Champion
    platform: Platform
    changes: tuple[str, ...]

    @property
    def same_hardware(self) -> bool:
        """True where it was proven on the hardware at hand."""
        return self.champion.fingerprint == fingerprint(self.platform.device)

    @property
    def by_time(self) -> bool:
        """True if times of then and now may be compared."""
        return self.same_hardware and self.campaign.objective.kind is not Kind.ENERGY

    @property
    def then(self) -> Figure:
        """The figures with which it was proven."""
        champion = self.champion
        return Figure(champion.speedup, champion.low, champion.high, champion.times_ms)

    @property
    def weights(self) -> Mapping[str, float]:
        """Weights of the tuned sizes, by label."""
        return {size.label: size.weight for size in self.campaign.spec.sizes}

    @property
    def key(self) -> str:
        """The same for the same champion on the same platform."""
        here = self.platform
        parts = (str(self.champion.campaign), self.champion.variant, fingerprint(here.device), here.toolchain.label,
                 here.version, here.contract, self.champion.name)  # fmt: skip
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        cases: To be looked at.
        current: Names of campaigns for which nothing has changed, with why that is so.
        absent: What should be looked at and cannot be.
    """

    cases: tuple[Case, ...]
    current: tuple[tuple[str, str], ...]
    absent: tuple[Absent, ...]


def plan_of(found: Sequence[Champion], campaigns: Sequence[Campaign], version: str, every: bool) -> Plan:
    """Finds each campaign's champion, and what has changed since that was proven.

    Args:
        found: All champions of the base, the newest first.
        campaigns: Those at hand.
        version: Of evo-tune.
        every: Look at champions for which nothing has changed as well.
    """
    cases: list[Case] = []
    current: list[tuple[str, str]] = []
    absent: list[Absent] = []
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    for campaign in campaigns:
        try:
            platform = platform_of(campaign, version)
        except EvaluatorError as error:
            absent.append(Absent(campaign.name, str(campaign.path), str(error)))
            continue
        same = (campaign.name, platform.kernel_digest, tuple(size.label for size in campaign.spec.sizes))
        if same in seen:
            continue  # a copy of a campaign that was found before
        seen.add(same)
        own = [item for item in found if _belongs(item, campaign, platform)]
        if not own:
            absent.append(Absent(campaign.name, str(campaign.path), _UNKNOWN))
            continue
        case = _case(campaign, platform, own, every)
        if isinstance(case, Case):
            cases.append(case)
        else:
            current.append((campaign.name, case))
    return Plan(tuple(cases), tuple(current), tuple(absent))


def _case(campaign: Campaign, platform: Platform, own: Sequence[Champion], every: bool) -> Case | str:
    """What has to be looked at again, or why nothing has."""
    champion = chosen(own, platform)
    if champion is None:
        return "nothing was faster than the kernel as it is"
    changes = differences(champion, platform)
    if not changes and not every:
        return f"proven on this platform on {champion.finished[:10]}"
    return Case(campaign, champion, platform, changes)


def platform_of(campaign: Campaign, version: str) -> Platform:
    """What the campaign would run on, without starting anything.

    Raises:
        DeviceError: If there is no such device.
    """
    if campaign.device.startswith(PREFIX):
        with build(_alone(campaign)) as parts:
            evaluator = parts.evaluator
            return Platform(evaluator.device, evaluator.toolchain, "", parts.contract, parts.kernel.digest)
    facts = _facts(campaign.device)
    digest = kernel_record(campaign.spec, spec_kernel(campaign.spec)).digest
    return Platform(facts[0], campaign.objective.keyed(facts[1]), version, contract(campaign), digest)


def differences(champion: Champion, here: Platform) -> tuple[str, ...]:
    """What has changed since the champion was proven, in words; empty if nothing has."""
    found = []
    if champion.fingerprint != fingerprint(here.device):
        found.append(f"device: {champion.device} -> {here.device.name}")
    for name in ("platform", "driver", "compiler"):
        before, now = getattr(champion.toolchain, name), getattr(here.toolchain, name)
        if before != now:
            found.append(f"{name}: {before or 'none'} -> {now or 'none'}")
    if champion.version and here.version and champion.version != here.version:
        found.append(f"evo-tune: {champion.version} -> {here.version}")
    if champion.contract != here.contract:
        recorded = here.device.id.startswith(PREFIX)
        found.append("the recording" if recorded else "what counts as right (reference, tolerance, inputs, checks)")
    return tuple(found)


def chosen(own: Sequence[Champion], here: Platform) -> Champion | None:
    """The champion that has to hold: of the hardware at hand, else of the nearest hardware that has one.

    Of several campaigns those on the platform at hand count, else those on the platform of the newest; the largest
    speed-up wins. None if nothing was faster than the kernel as it was.
    """
    mine = [item for item in own if item.fingerprint == fingerprint(here.device)]
    if not mine:
        others = [item for item in own if item.genome.genes]
        vector = device_features(here.device)
        nearest = min(others, key=lambda item: vector_distance(vector, item.device_features), default=None)
        mine = [item for item in others if nearest is not None and item.fingerprint == nearest.fingerprint]
    if not mine:
        return None
    present = [item for item in mine if not differences(item, here)]
    newest = [item for item in mine if _where(item) == _where(mine[0])]
    faster = [item for item in present or newest if item.genome.genes]
    return max(faster, key=lambda item: item.speedup, default=None)


def _where(champion: Champion) -> tuple[str, str, str]:
    return champion.toolchain.label, champion.version, champion.contract


def _belongs(champion: Champion, campaign: Campaign, here: Platform) -> bool:
    """True for a champion of this very campaign: name, kernel, sizes and objective."""
    sizes = {size for size, _, _ in champion.times_ms}
    return (
        champion.name == campaign.name
        and champion.kernel_digest == here.kernel_digest
        and sizes == {size.label for size in campaign.spec.sizes}
        and champion.objective == campaign.settings.get("objective")
    )


def _alone(campaign: Campaign) -> Campaign:
    return replace(campaign, use_knowledge=False, surrogate=False)


@lru_cache(maxsize=16)
def _facts(device: str) -> tuple[DeviceInfo, Toolchain]:
    facts = facts_of(device)
    return facts.info, facts.toolchain

"""The composition root: the one place that knows which transforms, agents, devices and knowledge base there are."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from threading import Thread

from evaluator.api import Evaluator
from evaluator.devices import resolve_device
from evaluator.messages import Work
from evaluator.plan import tighter
from evaluator.pool import LocalEvaluator
from evaluator.settings import EvaluatorSettings
from evo.campaign_objective import check_device
from evo.campaign_replay import PREFIX
from evo.campaign_types import Campaign
from evo.contract import contract
from evo.diagnosis import strain_by_replay
from evo.memory import Memory, NoMemory
from evo.parts import Parts, Pipeline, SurrogateModel
from evo.plugins import AGENT_GROUP, plugins, unique
from evo.plugins import transforms as transforms
from evo.self_test import misreading
from evo.wire_replay import replayed
from genome.genes import Gene
from genome.lower import lower
from genome.moves import moves
from genome.operations import flops
from genome.replay import spec_kernel, unpinned
from genome.spec import Reading
from genome.transforms.base import Context, Transform
from knowledge.features import device_features, kernel_record, size_features
from knowledge.records import KernelRecord
from knowledge.spooled import PATIENCE_S, SpooledBase
from knowledge.store import KnowledgeBase
from knowledge.surrogate import Surrogate, get_ready
from operators.base import Agent
from operators.computation import Computation
from operators.crossover import Crossover, Merge
from operators.local_search import LocalSearch
from operators.memory_layout import MemoryLayout
from operators.parallelism import Parallelism
from operators.profiler import Profiler
from operators.recall import Recall
from operators.verifier import Verifier

AGENTS: tuple[Agent, ...] = (
    Profiler(), MemoryLayout(), Computation(), Parallelism(), Recall(), Crossover(), Merge(), LocalSearch(), Verifier(),
)  # fmt: skip

_REPORTED = ("evo-tune", "numpy", "scikit-learn", "deap", "pyopencl", "pycparser", "sqlalchemy", "psycopg")


def agents() -> tuple[Agent, ...]:
    """Built-in agents, then those of installed packages (entry points of ``evo_tune.agents``), by name.

    Raises:
        ValueError: If two agents have the same name.
    """
    return unique((*AGENTS, *plugins(AGENT_GROUP)), "agent")


@contextmanager
def build(campaign: Campaign) -> Iterator[Parts]:
    """Builds everything that a campaign needs, and closes it in the end.

    Raises:
        DeviceError, KnowledgeError, SourceError: See ``evo.engine.run_campaign``.
    """
    if campaign.device.startswith(PREFIX):
        with replayed(campaign) as parts:
            yield parts
        return
    spec, all_transforms = campaign.spec, transforms()
    record = kernel_record(spec, spec_kernel(spec) if spec.source else None)
    device = resolve_device(campaign.device)
    check_device(campaign.objective, device, campaign.path)
    with ExitStack() as stack:
        work = {size.label: Work(flops(spec, size)) for size in spec.sizes} if spec.source else {}
        settings = EvaluatorSettings(objective=campaign.objective)
        evaluator = LocalEvaluator(spec, device.id, settings, campaign.reference, campaign.seed, work)
        stack.callback(evaluator.close)
        evaluator.start()  # its processes get ready while the base opens, and the model's library loads
        if campaign.surrogate:
            Thread(target=get_ready, daemon=True).start()
        memory: Memory = NoMemory()
        if campaign.use_knowledge:
            base = SpooledBase(KnowledgeBase.open(campaign.knowledge_url, patience_s=PATIENCE_S), campaign.output)
            stack.callback(base.close)
            memory = base
        yield assemble(campaign, evaluator, memory, record, all_transforms, agents())


def assemble(
    campaign: Campaign,
    evaluator: Evaluator,
    memory: Memory,
    record: KernelRecord,
    all_transforms: Sequence[Transform],
    all_agents: tuple[Agent, ...],
) -> Parts:
    """Binds lowering and moves to this kernel and device."""
    spec = replace(campaign.spec, limits=tighter(evaluator.limits, campaign.spec.limits))
    target, limits = evaluator.target, spec.limits or evaluator.limits
    plain = unpinned(spec)
    by_name = {transform.name: transform for transform in all_transforms}

    def read_as(reading: Reading) -> Parts:
        read = replace(campaign, spec=replace(campaign.spec, reading=reading))
        return assemble(read, evaluator, memory, record, all_transforms, all_agents)

    def describe(gene: Gene) -> str:
        transform = by_name.get(gene.transform)
        return transform.describe(gene.site, gene.values) if transform else gene.transform

    device_vector = device_features(evaluator.device)
    size_vectors = tuple(size_features(spec, size) for size in spec.sizes)
    surrogate: SurrogateModel | None = None
    timing_surrogate: SurrogateModel | None = None
    if campaign.surrogate:
        about = (record.features, device_vector, size_vectors[0])
        surrogate = Surrogate(*about, seed=campaign.seed)
        timing_surrogate = Surrogate(*about, seed=campaign.seed, compiled=True)
    return Parts(
        evaluator=evaluator,
        lower=lambda genome: lower(spec if genome.genes else plain, genome, all_transforms, target, limits),
        moves=lru_cache(maxsize=4096)(
            lambda genome, only=None: moves(spec, genome, all_transforms, target, limits, only)
        ),
        describe=describe,
        agents=all_agents,
        kernel=record,
        clock=time.monotonic,
        memory=memory,
        surrogate=surrogate,
        timing_surrogate=timing_surrogate,
        device_features=device_vector,
        size_features=size_vectors,
        contract=contract(campaign),
        pipeline=pipeline_for(evaluator.device.kind, EvaluatorSettings().compiler_count(), campaign.budget.evaluations),
        versions=versions(evaluator),
        notes=campaign.notes,
        reading=spec.reading,
        strain=strain_by_replay(spec, all_transforms, Context(spec, target, limits)) if spec.source else None,
        read_as=read_as if spec.source else None,
        misreading=lambda: misreading(plain, EvaluatorSettings().compilations()),
    )


def pipeline_for(kind: str, compilers: int, evaluations: int) -> Pipeline:
    """How far ahead of the device to work.

    Two variants for each compiler keep all of them busy, and three on their way to a GPU (it holds two) let this
    process think while the device works. No more than an eighth of the budget is in flight, though: what is proposed
    ahead is proposed without knowing how those before it ended. A CPU device shares its cores with both: nothing runs
    beside a timing.
    """
    return Pipeline(max(8, min(2 * compilers, evaluations // 8)), 3) if kind == "gpu" else Pipeline(3, 1)


def versions(evaluator: Evaluator) -> dict[str, str]:
    """Versions of what took part, for reports and the knowledge base."""
    found = {"python": platform.python_version(), "toolchain": evaluator.toolchain.label}
    for package in _REPORTED:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue  # an optional part that is not installed
    return found

"""From validated models to a ``Campaign``: resolves paths and sizes, applies overrides, runs the cross checks."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.oracle import Reference
from evo.campaign_arguments import build_args, build_sizes
from evo.campaign_check import check_launch, check_promises, check_shapes, check_tunables, launches
from evo.campaign_kernel import check_signature, choose_entry
from evo.campaign_launch import build_launch
from evo.campaign_memory import check_memory, machine_memory
from evo.campaign_model import FIXED, CampaignModel, InitModel
from evo.campaign_notes import campaign_notes
from evo.campaign_objective import build_objective, objective_notes
from evo.campaign_paths import check_output, find_function, included_folders, read_source
from evo.campaign_sizes import generate_check_sizes
from evo.campaign_steering import check_steering
from evo.campaign_types import Budget, Campaign, CampaignError, Overrides
from evo.campaign_yaml import Document, FieldPath, Place
from genome.genes import Gene, Site
from genome.limits import DeviceLimits
from genome.spec import Assumptions, KernelSpec, Steering, Tolerance, Tunable
from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN
from knowledge.errors import KnowledgeError

DATABASE_VARIABLE = "EVO_TUNE_DATABASE_URL"
"""Environment variable that names the shared knowledge base when the campaign says ``auto``."""

_NO_LIMIT = 2**31 - 1


def build_campaign(
    model: CampaignModel, document: Document, overrides: Overrides, transforms: Sequence[Transform] = BUILTIN
) -> Campaign:
    """The campaign of a validated file. ``transforms`` are those that its steering may name.

    Raises:
        CampaignError: If fields contradict one another, the source or the file system.
        SourceError: If the kernel's source cannot be read by the front end.
    """
    device = _device(overrides.device or model.device, Place.of(document, "device", given=bool(overrides.device)))
    spec = build_spec(model, document)
    check_steering(spec, document, device, transforms)
    use_knowledge, url = knowledge_of(overrides.knowledge, model.knowledge, document)
    output = overrides.output or document.path.parent / model.output
    check_output(output, Place.of(document, "output", given=overrides.output is not None))
    if overrides.minutes is not None and not 0 < overrides.minutes < math.inf:
        raise CampaignError(f"--minutes: expected a finite number above 0, got {overrides.minutes:g}")
    _check_generators(model, document, overrides.allow_code)
    return Campaign(
        name=model.name or spec.name,
        path=document.path,
        spec=spec,
        output=output,
        reference=_reference(model, document, overrides.allow_code),
        device=device,
        budget=Budget(
            overrides.evaluations or model.budget.evaluations,
            overrides.minutes or model.budget.minutes,
            model.budget.patience,
        ),
        population=model.population,
        seed=model.seed if overrides.seed is None else overrides.seed,
        use_knowledge=use_knowledge,
        knowledge_url=url,
        objective=build_objective(model.objective, device, document),
        epsilon=model.epsilon,
        surrogate=model.surrogate,
        settings=plain_settings(document.data),
        notes=(*campaign_notes(spec), *objective_notes(model.objective)),
    )


def build_spec(model: CampaignModel, document: Document) -> KernelSpec:
    """The kernel with everything that is said about it, checked across fields and against its source."""
    path, source = read_source(document, model.kernel.source)
    defines, folders = tuple(model.kernel.defines.items()), included_folders(document, model.kernel.include)
    tunable = tuple((name, values[0]) for name, values in model.tunables.items())
    entry = choose_entry(model.kernel.entry, source, str(path), document, (*defines, *tunable), folders)
    args = build_args(model, document)
    sizes = build_sizes(model.sizes, document, ("sizes",))
    assumptions = _assumptions(model)
    draft = KernelSpec(
        name=entry,
        source=source,
        entry=entry,
        args=args,
        launch=build_launch(model, sizes, document),
        sizes=sizes,
        assumptions=assumptions,
        tolerance=Tolerance(model.tolerance.rtol, model.tolerance.atol, model.tolerance.norm),
        tunables=tuple(Tunable(name, tuple(values)) for name, values in model.tunables.items()),
        restrictions=tuple(model.restrictions),
        steering=_steering(model),
        limits=_limits(model),
        template_args=tuple(model.kernel.template_args),
        defines=defines,
        include_dirs=folders,
        path=str(path),
    )
    for launch in launches(draft):
        check_shapes(replace(draft, launch=launch), document)
    spec = _with_checks(draft, model, document)
    check_launch(replace(spec, launch=launches(spec)[0]), document)
    check_memory(spec, document, model.reference is not None, machine_memory())
    check_promises(spec, document)
    check_tunables(spec, document)
    check_signature(spec, document)
    return spec


def _with_checks(spec: KernelSpec, model: CampaignModel, document: Document) -> KernelSpec:
    if model.check_sizes is None:
        first = launches(spec)[0]
        extents = (*first.domain, *first.grid)
        held = {name for side in first.sized_block for name in side.names}
        generated = generate_check_sizes(spec.sizes, spec.args, spec.assumptions, extents, held)
        if len(generated) < 3:
            raise document.error(
                ("sizes",),
                "not enough check sizes can be made from these; add `check_sizes:` with at least three, or "
                f"`check_sizes: {FIXED}` if the kernel has but one size",
            )
        return replace(spec, check_sizes=generated)
    if isinstance(model.check_sizes, str):  # FIXED
        if len(spec.sizes) > 1:
            raise document.error(("check_sizes",), f"'{FIXED}' is for a kernel of one size; `sizes` lists several")
        return spec
    checks = build_sizes(model.check_sizes, document, ("check_sizes",))
    names = {name for name, _ in spec.sizes[0].values}
    for number, size in enumerate(checks):
        if set(size.env) != names:
            raise document.error(
                ("check_sizes", number), f"expected the sizes {', '.join(sorted(names))}, got {size.label}"
            )
    tuned = [size.env for size in spec.sizes]
    if len(checks) < 3 or any(size.env in tuned for size in checks):
        raise document.error(
            ("check_sizes",),
            f"expected at least three sizes that are not tuned on, got {sum(s.env not in tuned for s in checks)}; "
            "add some that do not divide evenly, or write `check_sizes: generate` "
            f"(`{FIXED}` if the kernel is compiled for its size)",
        )
    return replace(spec, check_sizes=checks)


def _assumptions(model: CampaignModel) -> Assumptions:
    assume = model.assume
    return Assumptions(
        no_alias=assume.no_alias,
        alignment=assume.alignment,
        divisible=tuple(assume.divisible.items()),
        ranges=tuple((name, low, high) for name, (low, high) in assume.ranges.items()),
        reassociation=assume.reassociation,
        fast_math=assume.fast_math,
        tf32=assume.tf32,
    )


def _steering(model: CampaignModel) -> Steering:
    pins = (Gene.of(p.transform, Site(p.site.label, p.site.role), **p.params) for p in model.transforms.pin)
    return Steering(
        forbid=tuple(model.transforms.forbid),
        focus=tuple(model.transforms.focus),
        pin=tuple(json.dumps(gene.to_json(), sort_keys=True, separators=(",", ":")) for gene in pins),
    )


def _limits(model: CampaignModel) -> DeviceLimits | None:
    """Limits of the campaign; what it leaves open is left to the device."""
    limits = model.limits
    if limits.registers is None and limits.shared_memory is None and limits.threads is None:
        return None
    return DeviceLimits(
        max_threads=limits.threads or 1024,
        shared_bytes=_NO_LIMIT if limits.shared_memory is None else limits.shared_memory,
        registers=limits.registers or 255,
    )


def _check_generators(model: CampaignModel, document: Document, allowed: Sequence[Path]) -> None:
    """Functions that fill arrays are there, and their code may run."""
    arguments: list[tuple[FieldPath, InitModel | None]] = [
        *((("arguments", number), argument.init) for number, argument in enumerate(model.arguments)),
        *((("constants", name), constant.init) for name, constant in model.constants.items()),
    ]
    for where, init in arguments:
        if init is not None and init.kind == "generator":
            find_function(document, init.function, (*where, "init", "function"), allowed)


def _reference(model: CampaignModel, document: Document, allowed: Sequence[Path]) -> Reference | None:
    if model.reference is None:
        return None
    function, checker = model.reference.function, model.reference.checker
    if (function is None) == (checker is None):
        raise document.error(("reference",), "expected `file.py:function`, `{checker: file.py:function}` or none")
    path, name = find_function(document, checker or function or "", ("reference",), allowed)
    return Reference(str(path), name, "checker" if checker else "numpy")


def _device(text: str, place: Place) -> str:
    if not re.fullmatch(r"auto|(opencl|cuda):\d+|replay:.+", text):
        raise place.error(f"expected auto, opencl:N or cuda:N, got '{text}'; `evo-tune devices` lists what is here")
    return text


def knowledge_of(option: str | None, written: str, document: Document) -> tuple[bool, str | None]:
    """(whether there is a knowledge base, its URL; None for the embedded one).

    Raises:
        CampaignError: If the option, or what is written in the file, is neither ``auto``, ``none`` nor a URL.
    """
    text, place = option or written, Place.of(document, "knowledge", given=bool(option))
    if text == "none":
        return False, None
    if text == "auto":
        text, place = os.environ.get(DATABASE_VARIABLE, ""), Place(f"${DATABASE_VARIABLE}")
        if not text:
            return True, None
    from knowledge.url import DRIVER, parse_url  # only here: most campaigns name no base, and it takes a while

    try:
        url = parse_url(text)
    except KnowledgeError as error:
        raise place.error(f"expected auto, none or {DRIVER}://user@host/base: {error.message}") from None
    return True, url.render_as_string(hide_password=False)


def plain_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says, as plain data for the knowledge base; without passwords."""
    plain: dict[str, Any] = json.loads(json.dumps(data, default=str))
    knowledge = plain.get("knowledge")
    if isinstance(knowledge, str) and knowledge not in ("auto", "none"):
        plain["knowledge"] = _without_secrets(knowledge)
    return plain


def _without_secrets(url: str) -> str:
    """The URL for people; nothing of a text that an option has replaced and that is no URL."""
    from knowledge.url import parse_url, shown

    try:
        return shown(parse_url(url))
    except KnowledgeError:
        return "***"

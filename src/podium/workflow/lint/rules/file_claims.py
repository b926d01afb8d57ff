"""Who may change which files, and who of them runs at once (28)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from podium.core.globs import globs_overlap
from podium.workflow.lint.analysis.control_flow import is_above
from podium.workflow.lint.analysis.survey import Block, FileSurvey, StepSite
from podium.workflow.outcomes import is_wide
from podium.workflow.problems import Problem
from podium.workflow.schema.file import Role
from podium.workflow.schema.scalars import INSERT
from podium.workflow.workers import workers_of

Claim: TypeAlias = tuple[str, ...] | None
"""The globs that are claimed; None is everything. What only the run will tell is left out."""

_PAIRS = 2_000
"""Beyond this many pairs a block is not searched: a warning is not worth seconds of waiting."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    for block, sites in survey.sites_of.items():
        if block.kind != "seq":
            yield from _at_once(survey, block, sites)
    for site in survey.sites:
        if site.step.for_each is not None and is_wide(site.step) and site.step.for_each.needs is None:
            yield from _iterations(survey, site)


def _at_once(survey: FileSurvey, block: Block, sites: Sequence[StepSite]) -> Iterator[Problem]:
    """One warning for each step, with the first of those it will have to wait for."""
    claims = {site: claim_of(survey, site) for site in sites}
    writers = [site for site in sites if claims[site] != ()]
    if len(writers) ** 2 > _PAIRS:
        return
    told: set[StepSite] = set()
    for first, second in combinations(writers, 2):
        if second in told or not overlap(claims[first], claims[second]) or in_order(block, first, second):
            continue
        told.add(second)
        message = (
            f'"{first.name}" and "{second.name}" run at once and touch the same files; '
            "they will wait for each other"
        )
        yield second.warning(28, message=message, hint="say with touches what each may change")


def in_order(block: Block, first: StepSite, second: StepSite) -> bool:
    """Whether one of the two ends before the other starts."""
    if block.kind != "dag":
        return block.kind == "seq"
    return is_above(block, first.name, second.name) or is_above(block, second.name, first.name)


def _iterations(survey: FileSurvey, site: StepSite) -> Iterator[Problem]:
    claim = claim_of(survey, site)
    if claim is None or claim:
        message = (
            f'the iterations of "{site.name}" run at once and touch the same files; '
            "they will wait for each other"
        )
        yield site.warning(28, message=message, hint='let touches name the item: "${{ item }}"')


def claim_of(survey: FileSurvey, site: StepSite) -> Claim:
    """All that a step and those in it may change."""
    step = site.step
    if step.touches is not None:
        return _known(step.touches)
    match step.verb:
        case "agent":
            return _united(
                _role_claim(worker.known_role, worker.role) for worker in workers_of(site.context, step)
            )
        case "steps":
            return _united(claim_of(survey, inner) for inner in survey.inside[site])
        case _:
            return ()


def _role_claim(role: Role | None, name: str | None) -> Claim:
    if role is None:
        return () if name is not None else None
    return None if role.touches is None else _known(role.touches)


def _known(touches: str | tuple[str, ...]) -> tuple[str, ...]:
    listed = () if isinstance(touches, str) else touches
    return tuple(glob for glob in listed if INSERT not in glob)


def _united(claims: Iterable[Claim]) -> Claim:
    found: list[str] = []
    for claim in claims:
        if claim is None:
            return None
        found.extend(claim)
    return tuple(found)


def overlap(first: Claim, second: Claim) -> bool:
    if first is None or second is None:
        return True
    return any(globs_overlap(a, b) for a in first for b in second)


def changes_files(site: StepSite, role: Role | None) -> bool:
    """Whether this worker may change the tree; one that only the run will tell is not accused."""
    declared = site.step.touches
    if declared is None:
        if role is None:
            return site.step.role is None
        declared = role.touches
    return declared is None or bool(declared)

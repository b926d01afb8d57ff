"""Which steps may change which files, and whether they run in parallel (28)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from podium.core.globs import globs_overlap
from podium.workflow.lint.analysis.control_flow import is_above
from podium.workflow.lint.analysis.survey import Block, FileSurvey, StepSite
from podium.workflow.outcomes import runs_parallel
from podium.workflow.problems import Problem
from podium.workflow.schema.file import Role
from podium.workflow.schema.scalars import INSERT
from podium.workflow.workers import workers_of

Claim: TypeAlias = tuple[str, ...] | None
"""The globs that a step may change; None is everything. Globs known only at run time are omitted."""

_MAX_PAIRS = 2_000
"""Blocks with more pairs are not checked, because a warning is not worth seconds of waiting."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    for block, sites in survey.sites_of.items():
        if block.kind != "seq":
            yield from _parallel_steps(survey, block, sites)
    for site in survey.sites:
        if site.step.for_each is not None and runs_parallel(site.step) and site.step.for_each.needs is None:
            yield from _iterations(survey, site)


def _parallel_steps(survey: FileSurvey, block: Block, sites: Sequence[StepSite]) -> Iterator[Problem]:
    """One warning for each step, with the first step that it must wait for."""
    claims = {site: claim_of(survey, site) for site in sites}
    writers = [site for site in sites if claims[site] != ()]
    if len(writers) ** 2 > _MAX_PAIRS:
        return
    reported: set[StepSite] = set()
    for first, second in combinations(writers, 2):
        if second in reported or not overlap(claims[first], claims[second]) or in_order(block, first, second):
            continue
        reported.add(second)
        message = (
            f'"{first.name}" and "{second.name}" run in parallel and may change the same files; '
            "one will wait for the other"
        )
        yield second.warning(28, message=message, hint="limit with touches what each may change")


def in_order(block: Block, first: StepSite, second: StepSite) -> bool:
    """Whether one of the two ends before the other starts."""
    if block.kind != "dag":
        return block.kind == "seq"
    return is_above(block, first.name, second.name) or is_above(block, second.name, first.name)


def _iterations(survey: FileSurvey, site: StepSite) -> Iterator[Problem]:
    claim = claim_of(survey, site)
    if claim is None or claim:
        message = (
            f'the iterations of "{site.name}" run in parallel and may change the same files; '
            "they will wait for each other"
        )
        yield site.warning(28, message=message, hint='use the item in touches: "${{ item }}"')


def claim_of(survey: FileSurvey, site: StepSite) -> Claim:
    """Everything that a step and the steps inside it may change."""
    step = site.step
    if step.touches is not None:
        return _static_globs(step.touches)
    match step.verb:
        case "agent":
            return _union(
                _role_claim(worker.known_role, worker.role) for worker in workers_of(site.context, step)
            )
        case "steps":
            return _union(claim_of(survey, inner) for inner in survey.inside[site])
        case _:
            return ()


def _role_claim(role: Role | None, name: str | None) -> Claim:
    if role is None:
        return () if name is not None else None
    return None if role.touches is None else _static_globs(role.touches)


def _static_globs(touches: str | tuple[str, ...]) -> tuple[str, ...]:
    globs = () if isinstance(touches, str) else touches
    return tuple(glob for glob in globs if INSERT not in glob)


def _union(claims: Iterable[Claim]) -> Claim:
    globs: list[str] = []
    for claim in claims:
        if claim is None:
            return None
        globs.extend(claim)
    return tuple(globs)


def overlap(first: Claim, second: Claim) -> bool:
    if first is None or second is None:
        return True
    return any(globs_overlap(a, b) for a in first for b in second)


def changes_files(site: StepSite, role: Role | None) -> bool:
    """Whether this worker may change the tree; a role known only at run time counts as one that does not."""
    declared = site.step.touches
    if declared is None:
        if role is None:
            return site.step.role is None
        declared = role.touches
    return declared is None or bool(declared)

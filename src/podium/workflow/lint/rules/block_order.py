"""The order of a block: unreachable steps (9), mixed kinds (10), and graphs with cycles (7, 11)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.lint.analysis.control_flow import flow_of
from podium.workflow.lint.analysis.cycles import find_cycles
from podium.workflow.lint.analysis.survey import Block, FileSurvey, StepSite
from podium.workflow.problems import Problem, did_you_mean, join_words


def check(survey: FileSurvey) -> Iterator[Problem]:
    for block, sites in survey.sites_of.items():
        if block.is_body:
            continue
        if block.part == "finally":
            yield from _no_needs(sites)
        if block.kind == "dag":
            yield from _mixed_needs(block, sites)
            yield from _needs(block, sites)
        if block.kind == "seq":
            yield from _unreachable(block, sites)


def _no_needs(sites: tuple[StepSite, ...]) -> Iterator[Problem]:
    for site in sites:
        if site.step.needs is not None:
            message = f'"{site.name}" has "needs", but finally is a sequence'
            yield site.problem(10, "needs", message=message, key=True)


def _mixed_needs(block: Block, sites: tuple[StepSite, ...]) -> Iterator[Problem]:
    """Rule 10, reported once per block: only the author knows whether one `needs` or all the others are wrong."""
    without_needs = [
        site for site in sites if site.step.needs is None and site.step.at("needs") not in site.context.broken
    ]
    with_needs = next(name for name, step in block.steps.items() if step.needs is not None)
    if without_needs:
        first, *others = without_needs
        hint = f"also without needs: {join_words([site.name for site in others], 'and')}" if others else ""
        message = f'"{first.name}" has no "needs" but "{with_needs}" has; write needs: [] to start it at once'
        yield first.problem(10, message=message, hint=hint, key=True)


def _needs(block: Block, sites: tuple[StepSite, ...]) -> Iterator[Problem]:
    for site in sites:
        for number, need in enumerate(site.step.needs or ()):
            if need not in block.steps:
                hint = did_you_mean(need, block.steps)
                message = f'needs of "{site.name}": step "{need}" does not exist in this block'
                yield site.problem(7, "needs", number, message=message, hint=hint)
    edges = {name: [n for n in step.needs or () if n in block.steps] for name, step in block.steps.items()}
    by_name = {site.name: site for site in sites}
    for cycle in find_cycles(edges):
        message = f"needs: {' -> '.join((*cycle, cycle[0]))} is a cycle"
        yield by_name[cycle[0]].problem(11, "needs", message=message, key=True)


def _unreachable(block: Block, sites: tuple[StepSite, ...]) -> Iterator[Problem]:
    """Rule 9; steps that are unreachable only because of a reported one are not reported again."""
    flow = flow_of(block, sites)
    entries = [0]
    reached = flow.reachable(entries)
    for number, site in enumerate(sites):
        if number not in reached:
            entries.append(number)
            reached = flow.reachable(entries)
            yield site.problem(9, message=f'step "{site.name}" cannot be reached', key=True)

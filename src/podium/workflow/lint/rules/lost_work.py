"""Work that a route drops although its step passed (44).

In a sequence, a route back from a failure rewinds to the target: the steps from there on run again, unless control can pass
them by. These are the steps in between, and those after the failure that led back before it. In a graph, each step builds on the work of its needs only, so a route back never brings work along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.core.types import CONTINUING_OUTCOMES
from podium.workflow.lint.analysis.control_flow import Edge, Flow, flow_of, targets_of
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.file_claims import claim_of
from podium.workflow.problems import Problem

_MAX_WORK = 50_000
"""Larger blocks are not checked, because a warning is not worth seconds of waiting."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    for block, sites in survey.sites_of.items():
        if block.kind == "dag":
            yield from _graph(survey, sites)
        elif block.kind == "seq":
            yield from _sequence(survey, flow_of(block, sites), sites)


def _graph(survey: FileSurvey, sites: Sequence[StepSite]) -> Iterator[Problem]:
    for site in sites:
        back = [
            (outcome, target)
            for outcome, target in targets_of(site)
            if outcome in CONTINUING_OUTCOMES and target in site.block.steps
        ]
        if back and claim_of(survey, site) != ():
            outcome, target = back[0]
            message = f'the work of "{site.name}" is lost when it leads back to "{target}", which starts from its needs'
            hint = "write these steps in order, without needs: then a step that passed keeps its work"
            yield site.warning(44, "on", outcome, message=message, hint=hint)


def _sequence(survey: FileSurvey, flow: Flow, sites: Sequence[StepSite]) -> Iterator[Problem]:
    rewinds = [
        edge
        for edges in flow.edges
        for edge in edges
        if 0 <= edge.target < edge.source and edge.outcome not in CONTINUING_OUTCOMES
    ]
    if not rewinds or not flow.jumps or len(rewinds) * len(sites) > _MAX_WORK:
        return
    reported: set[int] = set()
    for edge in rewinds:
        for number in range(edge.target + 1, len(sites)):
            if number in reported or claim_of(survey, sites[number]) == ():
                continue
            if number >= edge.source and not _may_lead_back(flow, number, edge.source):
                continue
            if _may_pass_by(flow, edge, number):
                reported.add(number)
                message = (
                    f'the work of "{sites[number].name}" is dropped when "{sites[edge.source].name}" leads back to '
                    f'"{sites[edge.target].name}", from where control may not come to it again'
                )
                hint = f'lead back to "{sites[number].name}", or let every way lead through it'
                yield sites[edge.source].warning(44, "on", message=message, hint=hint)


def _may_lead_back(flow: Flow, number: int, source: int) -> bool:
    """Whether control can come from this step, which passed, to the source with its work."""
    visited: set[int] = set()
    pending = [edge.target for edge in flow.edges[number] if edge.outcome in CONTINUING_OUTCOMES]
    while pending:
        here = pending.pop()
        if here == source:
            return True
        if here in visited or not 0 <= here < flow.end:
            continue
        visited.add(here)
        # A failure that leads back to this step or before it drops the work there already.
        pending.extend(
            edge.target
            for edge in flow.edges[here]
            if edge.outcome in CONTINUING_OUTCOMES or edge.target > min(here, number)
        )
    return False


def _may_pass_by(flow: Flow, rewind: Edge, number: int) -> bool:
    """Whether control can get from the target to the end of the block without entering this step."""
    visited: set[int] = set()
    pending = [rewind.target]
    while pending:
        here = pending.pop()
        if here == flow.end:
            return True
        if here in visited or here in (number, -1):
            continue
        visited.add(here)
        pending.extend(edge.target for edge in flow.edges[here])
    return False

"""Checks a workflow that was read against every rule and reports all problems at once.

Each check looks at the same FileSurvey and yields its problems; no check depends on another. The readers already
report problems of single keys (rules 1 to 5) and of templates (33).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis import contracts
from podium.workflow.lint.analysis.survey import FileSurvey, survey
from podium.workflow.lint.rules import (
    agent_capabilities,
    block_order,
    choices,
    counts,
    file_claims,
    inputs,
    judges,
    lost_work,
    naming,
    partials,
    paths,
    reviewer_independence,
    roles,
    routes,
    sub_workflows,
    teams,
    texts,
    triggers,
)
from podium.workflow.lint.rules.runs import series
from podium.workflow.problems import Problem

CHECKS: Final[tuple[tuple[Callable[[FileSurvey], Iterator[Problem]], tuple[int, ...]], ...]] = (
    (naming.check, (6,)),
    (routes.check, (7, 8, 11, 30)),
    (block_order.check, (7, 9, 10, 11)),
    (texts.check, (12, 13, 14, 15, 16, 17, 18, 19, 20)),
    (partials.check, (20,)),
    (contracts.check, (16,)),
    (roles.check, (20, 21, 29)),
    (agent_capabilities.check, (22,)),
    (counts.check, (23, 29, 31)),
    (paths.check, (24,)),
    (inputs.check, (24, 25, 34)),
    (judges.check, (26, 27, 32, 36)),
    (file_claims.check, (28,)),
    (sub_workflows.check, (35,)),
    (teams.check, (37, 38)),
    (routes.check_rejections, (40,)),
    (reviewer_independence.check, (41, 42)),
    (lost_work.check, (44,)),
    (choices.check, (45, 46)),
    (triggers.check, (24, 25, 34, 47)),
    (series.check, (48,)),
)
"""The checks with the rules they report; `tools/pages/validation.py` describes the rules."""


def check(context: WorkflowSource, *, sandbox: str | None = None) -> Iterator[Problem]:
    """The problems of a file and of the workflows it contains; `sandbox` is the strongest level of this machine, if known."""
    file_survey = survey(context)
    for rule_check, _ in CHECKS:
        yield from rule_check(file_survey)
    if sandbox is not None:
        yield from agent_capabilities.check_sandbox(file_survey, sandbox)
    for child in context.children.values():
        yield from check(child, sandbox=sandbox)

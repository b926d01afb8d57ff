"""A run that goes on from another, beside limits that the earlier one has used up."""

from __future__ import annotations

import pytest

from podium.app.run.rerun import preview_rerun
from tests.engine.kit import TEAM, Project
from tests.engine.test_continuing import made, went_on


@pytest.mark.req("X10", "R130")
def test_a_limit_that_is_used_up_does_not_refuse_what_follows_a_step_that_answers_as_before(
    project: Project,
) -> None:
    """The second step has used up its own limit, and its answer is there."""
    steps = (
        "  a: {agent: w, prompt: Do it., touches: [a.txt]}\n"
        "  b: {agent: w, prompt: Do more., touches: [b.txt], limits: {calls: 1}}\n"
    )
    cast = "- {match: {step: a}, write: {a.txt: a}}\n- {match: {step: b}, write: {b.txt: b}, cost_usd: 0.5}\n"
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))

    second, after = went_on(project, preview_rerun(project.facade, first, step="a"))

    assert made(project, second) == ["a"]
    assert after.ended is not None and after.ended.status == "passed"

"""A run that failed continues at the failed step: what has passed is kept, and no failed result is reused."""

from __future__ import annotations

import pytest

from podium.app.run.rerun import preview_rerun
from podium.core.messages import Approve
from podium.core.types import Address
from tests.engine.kit import TEAM, Project, outcome
from tests.engine.test_continuing import made, paths, went_on

pytestmark = pytest.mark.slow


def needs_flag(project: Project) -> str:
    """A command that passes as soon as a file is there, which the test makes in between."""
    return f"[test, -e, {project.root}/.podium/flag]"


def mend(project: Project) -> None:
    (project.root / ".podium/flag").touch()


@pytest.mark.req("R146", "R226")
def test_the_failed_step_and_what_follows_run_again(project: Project) -> None:
    steps = f"  a: {{run: [echo, one]}}\n  b: {{run: {needs_flag(project)}}}\n  c: {{run: [echo, three]}}\n"
    first, state = project.run(project.flow(steps))
    assert outcome(state, "b") == "failed"

    still, _ = went_on(project, preview_rerun(project.facade, first))
    mend(project)
    preview = preview_rerun(project.facade, still)
    last, after = went_on(project, preview)

    assert made(project, still) == ["b"]
    assert (paths(preview.reused), paths(preview.repeated), preview.next) == (["a"], ["b"], ("b",))
    assert made(project, last) == ["b", "c"]
    assert after.ended is not None and after.ended.status == "passed"


@pytest.mark.req("R146")
def test_a_failure_that_led_back_and_was_mended_is_kept(project: Project) -> None:
    cast = "- {match: {step: fix, visit: 1}, write: {x.txt: bad}}\n- {match: {step: fix}, write: {x.txt: good}}\n"
    steps = (
        "  fix: {agent: w, prompt: Mend it.}\n"
        "  test: {run: [grep, good, x.txt], on: {failed: fix}}\n"
        f"  last: {{run: {needs_flag(project)}}}\n"
    )
    first, state = project.run(project.flow(steps, head=TEAM, cast=cast))
    assert (outcome(state, "test"), outcome(state, "test~2"), outcome(state, "last")) == (
        "failed",
        "passed",
        "failed",
    )
    mend(project)

    second, after = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["last"]
    assert outcome(after, "last") == "passed"


@pytest.mark.req("R146")
def test_members_that_passed_are_kept_and_those_that_failed_run_again(project: Project) -> None:
    steps = (
        "  all:\n    parallel: true\n    steps:\n"
        "      l: {run: [echo, l]}\n"
        f"      r: {{run: {needs_flag(project)}}}\n"
        "  last: {run: [echo, end]}\n"
    )
    first, _ = project.run(project.flow(steps))
    mend(project)

    second, after = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["all/r", "last"]
    assert outcome(after, "last") == "passed"


@pytest.mark.req("R146")
def test_a_step_that_used_up_its_attempts_starts_again_with_its_gates(project: Project) -> None:
    cast = "- {match: {step: fix}, write: {x.txt: bad}}\n"
    steps = "  a: {run: [echo, one]}\n  fix: {agent: w, prompt: Mend it., retry: {attempts: 2, on_exhausted: fail}, gates: [{run: [grep, good, x.txt]}]}\n"
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))
    project.write("cast.yaml", cast.replace("bad", "good"))

    second, after = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second)[0] == "fix"
    assert outcome(after, "fix") == "passed"


@pytest.mark.req("R146")
def test_a_question_that_was_answered_no_is_asked_again(project: Project) -> None:
    first, _ = project.run(project.flow("  a: {run: [echo, one]}\n  ask: {human: 'Land it?'}\n"))
    project.say(first, Approve(Address("ask"), "reject", "ann", "not yet"))

    preview = preview_rerun(project.facade, first)
    second, _ = went_on(project, preview)
    state = project.say(second, Approve(Address("ask"), "approve", "ann")).state

    assert preview.next == ("ask",)
    assert state is not None and outcome(state, "ask") == "passed"

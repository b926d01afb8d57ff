"""Runs that nobody can carry on are ended by force."""

from __future__ import annotations

import pytest

from tests.engine.kit import Project
from tests.frontends.test_running import ASK, call, code, data, newest


@pytest.mark.req("R142")
@pytest.mark.parametrize("text", [None, "{", "podium: 1\nname: flow\nsteps:\n  other: {human: 'Go?'}\n"])
def test_a_run_whose_file_is_gone_broken_or_changed_is_ended_by_force(
    project: Project, text: str | None
) -> None:
    file = project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")
    file.unlink()
    if text is not None:
        file.write_text(text, "utf-8")

    refused = call("cancel")
    forced = call("cancel", "--force", "--json")

    assert (code(refused), code(forced)) == (2, 0)
    assert (data(forced)["run"], data(forced)["status"]) == (newest(project), "cancelled")
    assert code(call("verify")) == 0


def test_a_run_that_is_over_says_so_whatever_became_of_its_file(project: Project) -> None:
    file = project.flow("  a: {run: [echo, x]}\n")
    call("run", "flow.yaml", "--sandbox", "none")
    file.unlink()

    for words in (("cancel",), ("cancel", "--force"), ("guide", newest(project), "Take care.")):
        done = call(*words)
        assert (code(done), "has ended: passed" in str(done.exception)) == (2, True)

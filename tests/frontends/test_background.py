"""Runs that another process carries on."""

from __future__ import annotations

from tests.e2e.kit import until
from tests.engine.kit import Project
from tests.frontends.test_running import call, code, newest


def test_a_run_in_the_background_is_in_the_hands_of_its_process_when_the_command_returns(
    project: Project,
) -> None:
    project.flow("  a: {run: [echo, x]}\n")

    done = call("run", "flow.yaml", "--sandbox", "none", "--detach")
    run = project.store.heads()[0].run
    seen = project.view(run)

    assert (code(done), done.stdout.strip()) == (0, newest(project))
    assert seen.status in ("running", "passed")
    until(lambda: project.view(run).status == "passed", "the end of the run")

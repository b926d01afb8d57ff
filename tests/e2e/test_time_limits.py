"""A limit on working time that runs out while a command runs: its scope ends, not only the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Ended, closing, new_project

pytestmark = pytest.mark.slow

FILE = "w.yaml"
SLOW = 'run: [sh, -c, "sleep 60"]'
ROUTES = "on: {timeout: next, failed: next}"


def run(folder: Path, text: str) -> Ended:
    with closing(new_project(folder / "place", {FILE: f"podium: 1\nname: times\n{text}"})) as project:
        return project.podium("run", FILE, "--sandbox", "limits", "--json")


def ends(done: Ended) -> dict[str, tuple[str, str]]:
    return {step["path"]: (step["outcome"], step["reason"]) for step in done.data()["steps"]}


@pytest.mark.req("R130", "C18")
@pytest.mark.parametrize(
    "step",
    [
        f"{{{SLOW}, {ROUTES}}}",
        f"{{steps: {{a: {{{SLOW}, {ROUTES}}}}}, {ROUTES}}}",
        f"{{{SLOW}, for_each: [1], {ROUTES}}}",
    ],
    ids=["run", "steps", "for_each"],
)
def test_no_route_catches_the_time_of_the_run(tmp_path: Path, step: str) -> None:
    done = run(tmp_path, f"limits: {{time: 1s}}\nsteps:\n  slow: {step}\n  last: {{check: 'true'}}\n")

    assert done.code == 5, done.err
    data = done.data()
    assert (data["status"], data["reason"]) == ("limited", "limit")
    assert "last" not in ends(done)


@pytest.mark.req("R130")
def test_the_time_of_a_step_is_a_failure_that_the_scope_around_it_routes(tmp_path: Path) -> None:
    inner = f"{{a: {{{SLOW}, {ROUTES}}}, b: {{check: 'true'}}}}"
    text = f"steps:\n  slow: {{limits: {{time: 1s}}, steps: {inner}, on: {{failed: next}}}}\n  last: {{check: 'true'}}\n"
    done = run(tmp_path, text)

    assert done.code == 0, done.err
    assert ends(done)["slow"] == ("failed", "limit")
    assert ends(done)["last"] == ("passed", "")
    assert "slow/b" not in ends(done)


@pytest.mark.parametrize(("pause", "code", "outcome"), [("0s", 0, "passed"), ("soon", 1, "error")])
def test_a_timer_may_be_an_input(tmp_path: Path, pause: str, code: int, outcome: str) -> None:
    text = 'inputs: {pause: string}\nsteps:\n  rest: {wait: {timer: "${{ inputs.pause }}"}}\n'
    with closing(new_project(tmp_path / "place", {FILE: f"podium: 1\nname: times\n{text}"})) as project:
        done = project.podium("run", FILE, "-i", f"pause={pause}", "--sandbox", "limits", "--json")

    assert done.code == code, done.err
    [rest] = done.data()["steps"]
    assert rest["outcome"] == outcome
    if code:
        assert rest["message"] == 'wait.timer is "soon", but it must be a duration such as 90s, 5m or 1h30m'

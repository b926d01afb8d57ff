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


SETTINGS = """podium: 1
name: settings
inputs:
  patience: {type: string, default: 2s}
  budget: {type: number, default: 2}
  who: {type: list, default: [ann]}
vars: {moves: 40}
limits: {usd: "${{ inputs.budget }}", transitions: "${{ vars.moves }}", at_most: {usd: 3}}
steps:
  slow: {run: [sleep, "60"], timeout: "${{ inputs.patience }}", on: {timeout: next}}
  ask: {human: Good, by: "${{ inputs.who }}", on: {rejected: end}}
"""


def test_inputs_decide_timeouts_limits_and_people(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {FILE: SETTINGS})) as project:
        done = project.podium("run", FILE, "-i", "budget=9", "--sandbox", "limits", "--json")
        run = done.data()
        assert ends(done)["slow"] == ("timeout", "")
        assert run["limits"]["usd"]["limit"] == 3.0
        assert run["limits"]["transitions"]["limit"] == 40
        refused = project.podium("approve", run["run"], "ask", "--by", "bob")
        assert "only ann may" in refused.err
        assert project.podium("approve", run["run"], "ask", "--by", "ann").code == 0


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("patience=soon", 'steps.slow.timeout is "soon", but it must be a duration such as 90s, 5m or 1h30m'),
        ("budget=-1", "limits.usd is -1, but it must be a number of at least 0"),
        ("who=[]", "steps.ask.by is [], but it must be a name or a list of names"),
    ],
)
def test_a_value_that_a_setting_does_not_take_starts_nothing(tmp_path: Path, given: str, fault: str) -> None:
    with closing(new_project(tmp_path / "place", {FILE: SETTINGS})) as project:
        for command in ("run", "plan", "simulate"):
            done = project.podium(command, FILE, "-i", given, "--json")
            assert done.code == 2
            assert done.data()["error"]["message"] == f"settings: {fault}"
        assert not project.podium("runs", "--json").data()


def test_after_kill_9_a_run_keeps_the_values_of_its_inputs(tmp_path: Path) -> None:
    """The process dies between the start, where the values are computed, and the end of the wait that uses one."""
    text = (
        "podium: 1\nname: pause\ninputs: {pause: string, most: {type: number, default: 7}}\n"
        'limits: {usd: "${{ inputs.most }}"}\n'
        'steps:\n  rest: {wait: {timer: "${{ inputs.pause }}"}}\n'
        '  next: {run: [sleep, "60"], timeout: "${{ inputs.pause }}", on: {timeout: end}}\n'
    )
    with closing(new_project(tmp_path / "place", {FILE: text})) as project:
        child = project.start("run", FILE, "-i", "pause=3s", "--sandbox", "limits")
        run = project.run_id()
        project.until_event(run, "WaitStarted")
        child.kill()
        child.wait()
        done = project.podium("resume", run, "--json")

        assert done.code == 0, done.err
        assert ends(done) == {"rest": ("passed", ""), "next": ("timeout", "")}
        assert done.data()["limits"]["usd"]["limit"] == 7.0
        [waiting] = [event for event in project.events(run) if event["type"] == "WaitStarted"]
        assert waiting["due"] == waiting["at"] + 3000


def test_a_configuration_bounds_a_computed_limit(tmp_path: Path) -> None:
    files = {
        FILE: 'podium: 1\nname: x\ninputs: {most: number}\nlimits: {usd: "${{ inputs.most }}"}\nsteps: {a: {check: "true"}}\n',
        ".podium/config.yaml": "limits: {usd: 1.5}\n",
    }
    with closing(new_project(tmp_path / "place", files)) as project:
        bounded = project.podium("run", FILE, "-i", "most=9", "--json").data()
        lower = project.podium("run", FILE, "-i", "most=1", "--json").data()
        typed = project.podium("run", FILE, "-i", "most=9", "--set", "limits.usd=4", "--json").data()

    assert [run["limits"]["usd"]["limit"] for run in (bounded, lower, typed)] == [1.5, 1.0, 4.0]

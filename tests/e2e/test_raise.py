"""`podium raise`: a run that reached its limit continues without an edit of its file (issue 17, point 3)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.terminal import at_a_terminal
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: limited
agents: {w: {type: scripted, script: cast.yaml}}
limits: {usd: 1}
steps:
  first: {role: writer, agent: w, prompt: First., estimate: {usd: 0.4}}
  second: {role: writer, agent: w, prompt: Second., estimate: {usd: 0.4}}
"""
STEP_LIMIT = """\
podium: 1
name: narrow
agents: {w: {type: scripted, script: cast.yaml}}
limits: {usd: 9}
steps:
  around:
    limits: {usd: 1}
    steps:
      first: {role: writer, agent: w, prompt: First., estimate: {usd: 0.4}}
      second: {role: writer, agent: w, prompt: Second., estimate: {usd: 0.4}}
"""
LOOP = """\
podium: 1
name: rounds
limits: {transitions: 4}
steps:
  again:
    repeat: {until: "1 == 2", max: 6, on_exhausted: accept_best}
    steps:
      work: {run: [sh, -c, "true"]}
"""
CAST = "- match: {}\n  text: done\n  cost_usd: 0.7\n"
FILES = {
    "limited.yaml": FLOW,
    "narrow.yaml": STEP_LIMIT,
    "rounds.yaml": LOOP,
    "cast.yaml": CAST,
}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path / "place", FILES)) as made:
        yield made


def limited(project: Project, *options: str) -> str:
    done = project.podium("run", "limited.yaml", "--yes", "--sandbox", "limits", "--json", *options)
    assert done.code == 5, done.err
    return str(done.data()["run"])


def test_a_raised_run_reuses_what_passed_and_records_who_and_why(project: Project) -> None:
    run = limited(project)
    before = (project.root / "limited.yaml").read_text("utf-8")

    done = project.podium("raise", run, "usd=2", "--by", "ada", "--why", "worth it", "--json")

    data = done.data()
    conforms(data, "run")
    assert (done.code, data["status"]) == (0, "passed"), done.err
    assert data["raised"] == [{"unit": "usd", "to": "2", "by": "ada", "why": "worth it"}]
    assert [step["reused"] for step in data["steps"]] == [run, None]
    assert data["limits"]["usd"] == {"limit": 2.0, "used": 1.4, "reserved": 0}
    assert (project.root / "limited.yaml").read_text("utf-8") == before
    started = project.events(data["run"])[0]
    assert started["run"]["raised"] == [{"unit": "usd", "to": "2", "by": "ada", "why": "worth it"}]
    assert "limit on usd raised to 2 by ada: worth it" in project.podium("show").out


def test_the_end_of_a_limited_run_names_a_command_that_works(project: Project) -> None:
    run = limited(project)

    shown = project.podium("show").out
    assert f"podium raise {run} usd=2" in shown
    assert f"podium resume {run}" not in shown

    assert project.podium("raise", run, "usd=2").code == 0


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("usd=1", "usd=1 is not above the limit in force, 1"),
        ("usd=0.5", "is not above the limit in force"),
        ("uds=3", 'did you mean "usd"?'),
        ("usd=many", "usd must be a number, not 'many'"),
        ("usd", "'usd' is not a limit"),
        ("time=5", "time must be a duration such as 90s, 5m or 1h30m"),
        ("calls=5", "the run has no limit on calls"),
    ],
)
def test_a_value_that_raises_nothing_is_refused(project: Project, pair: str, message: str) -> None:
    done = project.podium("raise", limited(project), pair)

    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_ceiling_of_the_project_or_the_user_needs_its_flag(project: Project) -> None:
    run = limited(project)
    (project.root / ".podium/config.yaml").write_text("limits: {usd: 1.5}\n", "utf-8")

    refused = project.podium("raise", run, "usd=2")
    assert refused.code == 2
    assert "usd=2 is above the ceiling 1.5" in refused.err
    assert "config.yaml:1" in refused.err

    (project.root / ".podium/config.yaml").unlink()
    users = project.home / ".config/podium/config.yaml"
    users.parent.mkdir(parents=True)
    users.write_text("limits: {usd: 1.5}\n", "utf-8")
    assert project.podium("raise", run, "usd=2").code == 2

    assert project.podium("raise", run, "usd=2", "--over-ceiling", "--yes").code == 0


def test_a_run_without_people_keeps_its_limits(project: Project) -> None:
    done = project.podium("raise", limited(project, "--no-human"), "usd=2")

    assert done.code == 2
    assert "was started with --no-human" in done.err


def test_a_process_of_a_step_cannot_raise_a_limit(project: Project) -> None:
    """Also one that takes the marker out of its environment: its parents have it."""
    run = limited(project)
    bin_dir = project.folder / "bin"
    bin_dir.mkdir()
    command = bin_dir / "podium"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m podium "$@"\n', "utf-8")
    command.chmod(0o755)
    root = project.root
    script = f"cd {root} && env -u PODIUM_MARKER PYTHONPATH={project.environment()['PYTHONPATH']} {command} raise {run} usd=2"
    project.put(
        {
            "inside.yaml": f'podium: 1\nname: inside\nsteps:\n  lift: {{run: {{script: "{script}", shell: bash}}}}\n'
        }
    )

    done = project.podium("run", "inside.yaml", "--sandbox", "limits")

    assert done.code == 1
    assert "a process of a step cannot raise the limits of a run" in project.podium("logs").out
    assert len(json.loads(project.podium("runs", "--json").out)) == 2, "no run was started by the step"


def test_a_limit_of_a_step_is_raised_in_the_file(project: Project) -> None:
    run = project.podium("run", "narrow.yaml", "--yes", "--sandbox", "limits", "--json").data()["run"]

    done = project.podium("raise", run, "usd=20")

    assert done.code == 2
    assert 'reached a limit of its step "around"' in done.err


def test_transitions_are_raised_too(project: Project) -> None:
    first = project.podium("run", "rounds.yaml", "--sandbox", "limits")
    assert first.code == 5, first.err

    assert project.podium("raise", "@1", "transitions=40").code == 0


def test_a_run_that_did_not_reach_a_limit_is_refused(project: Project) -> None:
    project.put({"good.yaml": "podium: 1\nname: good\nsteps: {a: {run: ['true']}}\n"})
    assert project.podium("run", "good.yaml", "--sandbox", "limits").code == 0

    done = project.podium("raise", "@1", "usd=2", "--json")

    assert (done.code, done.data()["error"]["code"]) == (2, "not_limited")


def test_a_person_at_the_terminal_is_asked(project: Project) -> None:
    with at_a_terminal(project, "run", "limited.yaml", "--yes", "--sandbox", "limits") as terminal:
        until(lambda: terminal.shows(b"New limit on usd"), "the question")
        terminal.type("0.5")
        until(lambda: terminal.shows(b"Reason (optional"), "the reason")
        terminal.type("")
        until(lambda: terminal.shows(b"is not above the limit in force"), "the refusal")
        terminal.type("3")
        until(lambda: terminal.seen.count(b"Reason (optional") >= 2 or terminal.shows(b"\0"), "the reason")
        terminal.type("worth it")
        assert terminal.child.wait(timeout=60) == 0

    (raised,) = project.podium("show", "--json").data()["raised"]
    assert (raised["to"], raised["why"]) == ("3", "worth it")

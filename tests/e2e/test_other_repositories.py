"""A workflow of another repository, as a run of its own there (issue 20, B12)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.kit import Project, closing, new_project, until, until_exit

pytestmark = pytest.mark.slow

RELEASE = """\
podium: 1
name: release
inputs: {version: string}
steps:
  bump:
    run: {script: 'echo "$V" > VERSION'}
    env: ["V=${{ inputs.version }}"]
    touches: [VERSION]
    gates: [{check: inputs.version != "bad"}]
  sure: {human: "Release {{ inputs.version }}?", when: inputs.version == "9"}
  land: {git: {land: main, message: "Release ${{ inputs.version }}"}}
outputs: {version: "${{ inputs.version }}"}
"""
ONE = """\
podium: 1
name: one
inputs: {version: {type: string, default: "2"}}
steps:
  api:
    workflow: {file: release.yaml, in: ../../api/project}
    with: {version: "${{ inputs.version }}"}
  after: {run: [echo, "api is ${{ steps.api.output.version }}"]}
outputs: {said: "${{ steps.after.text }}"}
"""
EACH = """\
podium: 1
name: each
steps:
  release:
    for_each: [../../api/project, ../../web/project]
    parallel: 2
    workflow:
      file: release.yaml
      in: "${{ item }}"
      of: [../../api/project, ../../web/project]
    with: {version: "${{ item }}"}
"""


class Three(NamedTuple):
    app: Project
    api: Project
    web: Project

    def landed(self, project: Project) -> str:
        return project.git("show", "main:VERSION").strip()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    with ExitStack() as stack:
        files = {"release.yaml": RELEASE, "VERSION": "1\n"}
        made = [
            stack.enter_context(closing(new_project(tmp_path / name, content)))
            for name, content in (("app", {"one.yaml": ONE}), ("api", files), ("web", files))
        ]
        yield Three(*made)


def runs(project: Project) -> list[tuple[str, str]]:
    with project.store() as store:
        return [(head.run, head.status) for head in store.heads()]


def waits(project: Project) -> str | None:
    """The run whose question is open."""
    if not (project.root / ".podium" / "podium.db").exists():
        return None
    inbox = project.podium("inbox", "--json")
    questions = inbox.data() if inbox.code == 0 else []
    return str(questions[0]["run"]) if questions else None


def test_the_run_lands_in_its_own_repository_and_gives_its_outputs(three: Three) -> None:
    before = three.app.git("rev-parse", "main")

    ended = three.app.podium("run", "one.yaml", "--output", "said")

    assert (ended.code, ended.out) == (0, "api is 2\n\n"), ended.err
    assert three.landed(three.api) == "2"
    assert three.app.git("rev-parse", "main") == before
    [(child, status)] = runs(three.api)
    assert status == "passed"
    assert child.startswith(three.app.run_id())


def test_its_gates_are_its_own_and_a_failure_leaves_nothing(three: Three) -> None:
    ended = three.app.podium("run", "one.yaml", "-i", "version=bad")

    assert ended.code == 1
    assert "release.yaml in ../../api/project: failed" in ended.err
    assert three.landed(three.api) == "1"


def test_a_value_chooses_the_repository(three: Three) -> None:
    three.app.commit({"each.yaml": EACH}, "each")

    ended = three.app.podium("run", "each.yaml")

    assert ended.code == 0, ended.err + ended.out
    assert three.landed(three.api) == "../../api/project"
    assert three.landed(three.web) == "../../web/project"


def test_after_a_kill_the_same_run_goes_on(three: Three) -> None:
    child = three.app.start("run", "one.yaml", "-i", "version=9")
    run = three.app.while_running(child, lambda: waits(three.api), "a question in the other repository")
    os.kill(child.pid, signal.SIGKILL)
    until_exit(child)

    answered = three.api.podium("approve", run)
    resumed = three.app.podium("resume")

    assert answered.code == 0, answered.err
    assert resumed.code == 0, resumed.err + resumed.out
    assert runs(three.api) == [(run, "passed")]
    assert three.landed(three.api) == "9"


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_cancel_reaches_it(three: Three, is_killed: bool) -> None:
    child = three.app.start("run", "one.yaml", "-i", "version=9")
    run = three.app.while_running(child, lambda: waits(three.api), "a question in the other repository")
    if is_killed:
        os.kill(child.pid, signal.SIGKILL)
        until_exit(child)

    cancelled = three.app.podium("cancel")

    assert cancelled.code == 0, cancelled.err
    until(lambda: runs(three.api) == [(run, "cancelled")] or None, "the end of the other run")
    assert three.landed(three.api) == "1"


def test_a_timeout_of_the_step_cancels_it(three: Three) -> None:
    three.app.commit({"one.yaml": ONE.replace("  api:\n", "  api:\n    timeout: 3s\n")}, "timeout")

    ended = three.app.podium("run", "one.yaml", "-i", "version=9")

    assert ended.code == 124, ended.out + ended.err
    assert [status for _, status in runs(three.api)] == ["cancelled"]


def test_without_people_here_there_are_none_there(three: Three) -> None:
    ended = three.app.podium("run", "one.yaml", "-i", "version=9", "--no-human")

    assert ended.code == 1
    assert [status for _, status in runs(three.api)] == ["failed"]


def test_it_gets_what_is_left_of_the_money(three: Three) -> None:
    text = ONE.replace("steps:\n", "limits: {usd: 4}\nsteps:\n", 1)
    text = text.replace("  api:\n", "  api:\n    limits: {usd: 0.5}\n")
    three.app.commit({"one.yaml": text}, "limits")

    ended = three.app.podium("run", "one.yaml")

    assert ended.code == 0, ended.err
    shown = three.api.podium("show", "--json").data()
    assert shown["limits"]["usd"]["limit"] == 0.5


def test_a_change_of_the_other_workflow_does_not_stop_this_run(three: Three) -> None:
    child = three.app.start("run", "one.yaml", "-i", "version=9")
    run = three.app.while_running(child, lambda: waits(three.api), "a question in the other repository")
    os.kill(child.pid, signal.SIGKILL)
    until_exit(child)
    three.api.podium("approve", run)
    three.api.commit({"release.yaml": RELEASE + "description: Newer.\n"}, "newer")

    resumed = three.app.podium("resume")

    assert resumed.code == 0, resumed.err + resumed.out


def test_a_test_plays_it_in_copies_with_the_same_cast(three: Three) -> None:
    tests = """\
podium: 1
tests:
  released:
    inputs: {version: "9"}
    cast: [{match: {step: sure}, answer: approve}]
    expect: {status: passed, outputs: {said: "api is 9\\n"}}
  refused:
    inputs: {version: "9"}
    cast: [{match: {step: sure}, answer: reject, text: not today}]
    expect: {status: failed}
"""
    three.app.commit({"one.test.yaml": tests}, "tests")

    played = three.app.podium("test", "one.test.yaml")

    assert played.code == 0, played.out + played.err
    assert three.landed(three.api) == "1"


def test_it_is_drawn_priced_and_simulated_like_other_workflows(three: Three) -> None:
    drawn = three.app.podium("graph", "one.yaml")
    simulated = three.app.podium("simulate", "one.yaml", "-n", "20")

    assert "api  [workflow release in ../../api/project]" in drawn.out
    assert "land  [git land]" in drawn.out
    assert simulated.code == 0, simulated.err


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ("{file: release.yaml, in: ../nowhere}", "in: ../nowhere does not exist"),
        ("{file: nothing.yaml, in: ../../api/project}", "../../api/project has no file nothing.yaml"),
        ("{file: one.yaml, in: .}", "in: . is this repository"),
        ("{file: release.yaml, in: ../../api}", "in: ../../api is not the top of a git repository"),
        ("{file: release.yaml, in: /tmp}", "in: /tmp is an absolute path"),
        ("{file: ../release.yaml, in: ../../api/project}", "has no file ../release.yaml"),
        (
            "{file: release.yaml, in: ../../api/project}, with: {version: a}, gates: [{run: make}]",
            "gates here see the files of this repository",
        ),
    ],
)
def test_mistakes_are_found_before_the_run(three: Three, workflow: str, said: str) -> None:
    three.app.put({"bad.yaml": f"podium: 1\nname: bad\nsteps:\n  a: {{workflow: {workflow}}}\n"})

    checked = three.app.podium("validate", "bad.yaml")

    assert checked.code in (2, 3)
    assert said in checked.out + checked.err

"""`podium` without a command: what runs, what waits for a person, the last results, what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.frontends.cli.main import COMMANDS, HEADINGS, podium
from tests.engine.kit import HEAD, Project

ASKS = HEAD + 'steps:\n  ask: {human: "Ship it?"}\n'
FAILS = HEAD.replace("flow", "broken") + "steps:\n  test: {run: 'false'}\n"
WAITS = HEAD.replace("flow", "nightly") + "steps:\n  later: {wait: {signal: go}}\n"
PASSES = HEAD.replace("flow", "fine") + "steps:\n  test: {run: 'true'}\n"


def call(*arguments: str) -> str:
    done = CliRunner().invoke(podium, arguments, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.stdout


def start(project: Project, name: str, text: str) -> None:
    project.write(name, text)
    project.commit()
    done = CliRunner().invoke(podium, ("run", name, "--sandbox", "none"), standalone_mode=False)
    assert done.exception is None, done.exception


def test_a_folder_without_runs_and_workflows_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    shown = call()

    assert "no runs yet" in shown
    assert [line.split("  ")[0] for line in shown.splitlines()[2:]] == [
        "podium init",
        "podium demo",
        "podium --help",
    ]
    assert not (tmp_path / ".podium").exists()


def test_workflows_of_the_project_are_offered_from_any_folder_below(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("flows/fine.yaml", PASSES)
    project.write("flows/fine.test.yaml", "podium: 1\n")
    project.write("flows/other.yaml", "name: something else\n")
    monkeypatch.chdir(project.root / "flows")

    assert "podium run flows/fine.yaml  to start it" in call()


@pytest.mark.req("R190")
def test_what_waits_for_a_person_comes_first_with_the_command_that_answers(project: Project) -> None:
    for name, text in (("fails", FAILS), ("waits", WAITS), ("asks", ASKS)):
        start(project, f"{name}.yaml", text)

    lines = call().splitlines()

    assert lines[0] == "project: 2 not finished"
    assert [line for line in lines if line and not line.startswith((" ", "podium", "project"))] == [
        "Waits for you",
        "Not finished",
        "Last results",
    ]
    assert "    Ship it?" in lines
    assert any("nightly" in line and "the signal go" in line for line in lines)
    assert any("failed" in line and "broken" in line for line in lines)
    assert [" ".join(line.split()[:2]) for line in lines[-3:]] == [
        "podium inbox",
        "podium approve",
        "podium reject",
    ]


def test_after_a_failure_the_next_command_is_about_it(project: Project) -> None:
    start(project, "fails.yaml", FAILS)

    shown = call()

    assert shown.startswith("project: nothing is running")
    assert "--failed  to see the output of the failed attempts" in shown
    assert "podium run" not in shown


def test_help_lists_every_command_once_and_the_everyday_ones_first() -> None:
    listed = [name for names in HEADINGS.values() for name in names.split()]

    assert sorted(listed) == sorted(COMMANDS)
    assert listed[:5] == ["init", "run", "show", "approve", "resume"]
    assert [
        line.split()[0]
        for line in call("--help").splitlines()
        if line.startswith("  ") and line.split()[0] in COMMANDS
    ] == listed

"""What is offered for an argument, by the protocol that shells speak; real shells are in tests/e2e/test_completion.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete, CompletionItem

from podium.app.author import workflow_files
from podium.frontends.cli.main import COMMANDS, podium
from tests.engine.kit import Project

WAITS = "podium: 1\nname: flow\nsteps:\n  say: {run: [echo, hello]}\n  ask: {human: Look at it}\n"
PASSES = "podium: 1\nname: flow\nsteps:\n  only: {run: [echo, hello]}\n"


def offered(*words: str) -> list[str]:
    return [item.value for item in items(*words)]


def items(*words: str) -> list[CompletionItem]:
    shell = BashComplete(podium, {}, "podium", "_PODIUM_COMPLETE")
    return shell.get_completions(list(words[:-1]), words[-1])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.root)
    yield made
    made.facade.runtime.close()


def parameters(command: click.Command, name: str) -> Iterator[tuple[str, click.Parameter]]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            inner = command.get_command(context, one)
            assert inner is not None
            yield from parameters(inner, f"{name} {one}")
    yield from ((name, param) for param in command.params)


EXPECTED = {
    "run": {"complete_run", "complete_open_run", "complete_run_or_folder"},
    "step": {"complete_step", "complete_question"},
    "file": {"complete_workflow", "complete_memory_file"},
    "files": {"complete_workflow"},
    "sandbox": {"complete_sandbox"},
    "retry_from": {"complete_step"},
}
"""By the name of the parameter; `convert` takes files of other formats, which the shell completes."""


def test_every_parameter_that_names_a_run_a_step_or_a_workflow_is_completed() -> None:
    lacking = [
        f"{command} {param.name}"
        for command, param in parameters(podium, "podium")
        if param.name in EXPECTED and command != "podium convert"
        if getattr(param._custom_shell_complete, "__name__", "") not in EXPECTED[param.name]
    ]
    assert lacking == []


@pytest.mark.req("C23")
def test_commands_are_offered_with_their_help_and_without_importing_them() -> None:
    """Every press of the key starts a process, so it must not cost the imports of 39 commands."""
    code = (
        "import sys\nfrom click.shell_completion import BashComplete\n"
        "from podium.frontends.cli.main import podium\n"
        "found = BashComplete(podium, {}, 'podium', 'X').get_completions([], '')\n"
        "print(*[item.value for item in found], file=sys.stderr)\n"
        "print(*[name for name in sys.modules if name.startswith('podium.frontends.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == list(COMMANDS)
    assert set(done.stdout.split()) == {
        f"podium.frontends.cli.{name}" for name in ("import_path", "main", "streams")
    }
    assert {item.value: item.help for item in items("s")} == {
        name: text for name, text in COMMANDS.items() if name.startswith("s")
    }


def test_options_of_the_program_and_of_a_command_are_offered() -> None:
    assert offered("--v") == ["--version"]
    assert {"--sandbox", "--sequential", "--set"} <= set(offered("run", "x.yaml", "--s"))
    assert offered("watch", "--mode", "a") == ["affected"]
    assert offered("run", "--sandbox", "l") == ["limits"]


def test_runs_are_offered_newest_first_and_those_that_have_ended_where_that_makes_sense(
    project: Project,
) -> None:
    waiting, _ = project.run(_file(project, WAITS))
    passed, _ = project.run(_file(project, PASSES))

    assert [(item.value, item.help) for item in items("show", "")] == [
        (passed, "flow, passed"),
        (waiting, "flow, waiting"),
    ]
    assert offered("approve", "") == offered("cancel", "") == [waiting]
    assert offered("resume", "") == [passed, waiting], "an ended run may be continued"
    assert offered("show", waiting) == [waiting]
    assert offered("show", "zzz") == []


def _file(project: Project, text: str) -> Path:
    path = project.write("flow.yaml", text)
    project.commit()
    return path


def test_steps_are_those_of_the_run_or_the_file_before_them(project: Project) -> None:
    path = _file(project, WAITS)
    run, _ = project.run(path)
    _file(project, PASSES)

    assert offered("logs", run, "") == offered("rerun", run, "") == ["say", "ask"]
    assert offered("fork", run, "--from", "s") == ["say"]
    assert offered("approve", run, "") == ["ask"]
    assert offered("run-step", "flow.yaml", "") == offered("prompt", "flow.yaml", "") == ["only"]
    assert offered("prompt", run, "a") == ["ask"]
    assert offered("logs", "no-such-run", "") == []


def test_addresses_are_offered_once_one_is_begun(project: Project) -> None:
    inner = "parallel: true, steps: {one: {run: [echo, a]}, two: {run: [echo, b]}}"
    text = f"podium: 1\nname: flow\nsteps:\n  both: {{{inner}}}\n"
    run, _ = project.run(_file(project, text))

    assert offered("logs", run, "") == ["both", "one", "two"]
    assert offered("logs", run, "both/") == ["both/one", "both/two"]


def test_workflow_files_come_before_other_yaml_and_that_before_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "release.yaml": PASSES,
        "release.test.yaml": "podium: 1\ntests: {}\n",
        "flows/nightly.yml": "# every night\n" + PASSES,
        "flows/a/b/c/deep.yaml": PASSES,
        "flows/a/b/c/d/deeper.yaml": PASSES,
        "compose.yaml": "services: {}\n",
        "node_modules/x/w.yaml": PASSES,
        ".hidden/w.yaml": PASSES,
        "with space.yaml": PASSES,
        "new\nline.yaml": PASSES,
        "\x1b[2J.yaml": PASSES,
        "notes.txt": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert offered("run", "") == ["release.yaml", "flows/nightly.yml"]
    assert offered("validate", "flows/") == ["flows/nightly.yml", "flows/a/b/c/deep.yaml"]
    assert offered("run", "./rel") == ["./release.yaml"]
    assert offered("run", str(tmp_path / "rel")) == [str(tmp_path / "release.yaml")]
    assert offered("run", "flows/a/b/c/d/") == ["flows/a/b/c/d/deeper.yaml"]
    assert offered("run", "comp") == ["compose.yaml"]
    assert [(item.type, item.value) for item in items("run", "note")] == [("file", "note")]
    assert offered("test", "") == ["release.test.yaml"]


def test_a_folder_with_very_many_files_is_not_walked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workflow_files, "MOST_ENTRIES", 10)
    for number in range(20):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / "w.yaml").write_text(PASSES)
    assert [item.type for item in items("run", "")] == ["file"]


def test_roles_are_offered_with_what_they_are_for(project: Project) -> None:
    found = items("roles", "show", "orch")
    assert [item.value for item in found] == ["orchestrator"]
    assert found[0].help


def test_completing_never_makes_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered("show", "") == offered("approve", "") == offered("logs", "x", "") == []
    assert [item.type for item in items("verify", "")] == ["dir"]
    assert list(tmp_path.iterdir()) == []

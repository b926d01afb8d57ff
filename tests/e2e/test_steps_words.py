"""The steps format in its own words: names, messages, retries and the files of a run, through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

HEAD = 'version: "1.0"\nname: demo\nstrict_flow: true\n'
END = "on: {success: {goto: _end}, failure: {error: no}}"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, {"workspace/data.txt": "seven\n"}, git=True)) as made:
        yield made


def put_shim(project: Project, text: str) -> None:
    folder = project.folder / "shims"
    folder.mkdir(exist_ok=True)
    (folder / "house-shim").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "house-shim").chmod(0o755)
    project.env["PATH"] = f"{folder}:/usr/bin:/bin"


def run(project: Project, steps: str, *args: str) -> Any:
    project.put({"flow.yaml": f"{HEAD}steps:\n{steps}"})
    return project.podium("run", "flow.yaml", "--sandbox", "none", *args)


def pauses(project: Project) -> list[int]:
    """The milliseconds from the end of an attempt to the time at which the next one is due."""
    events = project.events(project.run_id())
    return [event["due"] - event["at"] for event in events if event["type"] == "RetryScheduled"]


def attempts(project: Project) -> int:
    return sum(event["type"] == "AttemptStarted" for event in project.events(project.run_id()))


@pytest.mark.req("R138", "C22")
def test_exits_1_and_124_are_retried_after_two_seconds_each(project: Project) -> None:
    script = "echo x >> n; case $(wc -l < n) in 1) exit 1;; 2) exit 124;; 3) sleep 9;; *) echo done;; esac"
    done = run(
        project,
        f"  - {{name: A, command: [sh, -c, '{script}'], timeout: 1, retry: {{attempts: 4}}, {END}}}\n",
    )

    assert done.code == 0, done.err
    assert pauses(project) == [2000, 2000, 2000]


@pytest.mark.req("R138", "C22")
@pytest.mark.parametrize(("code", "calls"), [(1, 3), (2, 1), (7, 1)])
def test_a_shim_is_retried_by_its_exit_code_and_conditions_read_it(
    project: Project, code: int, calls: int
) -> None:
    put_shim(project, f"exit {code}")
    done = run(
        project,
        "  - {name: Ask, provider: house, prompt: hi, retry: {attempts: 3},"
        " on: {success: {goto: _end}, failure: {goto: Say}}}\n"
        f"  - {{name: Say, when: {{exit_code: {{step: Ask, op: '==', value: {code}}}}},"
        f' command: [echo, "${{steps.Ask.exit_code}}"], output_file: code.txt, {END}}}\n',
    )

    assert done.code == 0, done.err
    assert (project.root / "workspace/artifacts/Say/code.txt").read_text() == f"{code}\n"
    assert attempts(project) == calls + 1


@pytest.mark.req("C24")
def test_a_built_in_agent_gets_its_prompt_file_to_the_last_byte(project: Project) -> None:
    prompt = "Say {{ this }}.\n\n  ${{ that }}\n"
    project.put(
        {
            ".podium/config.yaml": "agents: {claude: {type: command, command: [cat], price: {input: 0, output: 0}}}\n",
            "workspace/prompts/ask.md": prompt,
        }
    )
    done = run(
        project,
        f"  - {{name: Ask, provider: claude, prompt_file: prompts/ask.md, output_file: o.txt, {END}}}\n",
    )

    assert done.code == 0, done.err
    assert (project.root / "workspace/artifacts/Ask/o.txt").read_text() == prompt


def test_a_run_in_the_project_says_nothing_about_uncommitted_files(project: Project) -> None:
    done = run(project, f"  - {{name: A, command: [cat, data.txt], {END}}}\n")

    assert done.code == 0, done.err
    assert "uncommitted" not in done.err


def test_rerun_and_run_step_take_the_names_of_the_author(project: Project) -> None:
    done = run(
        project,
        "  - {name: Fail, command: [sh, -c, 'echo f >> log'], on: {success: {goto: Second Part}, failure: {error: no}}}\n"
        f"  - {{name: Second Part, command: [sh, -c, 'echo s >> log'], {END}}}\n",
    )
    assert done.code == 0, done.err
    run_id = project.run_id()

    done = project.podium("rerun", run_id, "Second Part", "--yes")
    assert done.code == 0, done.err
    assert (project.root / "workspace/log").read_text() == "f\ns\ns\n"
    done = project.podium("run-step", "flow.yaml", "Fail", "--sandbox", "none")
    assert done.code == 0, done.err
    assert (project.root / "workspace/log").read_text() == "f\ns\ns\nf\n"


@pytest.mark.req("R030")
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "{name: A, command: [ls], on: {success: {goto: Nowhere}, failure: {error: x}}}",
            'flow.yaml:5:51: success: {goto: Nowhere} of "A": step "Nowhere" does not exist',
        ),
        (
            "{name: A, command: [ls], timeout: soon, on: {success: {goto: _end}, failure: {error: x}}}",
            'timeout of "A" must be a whole number of seconds, at least 1',
        ),
        ("{name: A, command: [ls]}", 'strict_flow: step "A" has no transition for success and failure'),
        (
            "{name: My Step, command: [ls], on: {success: {goto: _end}, failure: {error: x}}}\n  - {name: Lost One, command: [ls], on: {success: {goto: _end}, failure: {error: x}}}",
            'step "Lost One" cannot be reached',
        ),
    ],
)
def test_a_mistake_is_named_in_the_words_of_the_file(project: Project, step: str, message: str) -> None:
    project.put({"flow.yaml": f"{HEAD}steps:\n  - {step}\n"})
    done = project.podium("validate", "flow.yaml")

    assert message in done.err + done.out
    assert "on.passed" not in done.err + done.out


@pytest.mark.req("R150", "R153")
def test_state_json_has_names_context_and_both_streams(project: Project) -> None:
    done = run(
        project,
        "  - {name: My Step, command: [sh, -c, 'echo out; echo err >&2'],"
        " on: {success: {goto: Set It}, failure: {error: no}}}\n"
        '  - {name: Set It, set_context: {someKey: "${steps.My Step.output}"}, on: {success: {goto: _end}}}\n',
    )
    assert done.code == 0, done.err
    [file] = project.root.glob(".podium/runs/*/state.json")
    state = json.loads(file.read_text())

    assert list(state["steps"]) == ["My Step", "Set It"]
    assert state["context"] == {"someKey": "out"}
    place = Path(state["steps"]["My Step"]["spill_stderr_path"])
    assert place.is_absolute()
    assert place.read_text() == "err\n"

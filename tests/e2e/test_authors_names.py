"""Runs of files in other formats speak of steps by the names of the file, and take these names in every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

STATES = """\
name: letters
agents:
  ann: {type: cli, command: "tools/ann", cost_per_1k: {input: 0, output: 0}}
states:
  First-Draft: {type: single, agent: ann, prompt: Write., output: text.md, transitions: {success: ask-owner, failure: halt}}
  ask-owner: {type: human-approval, input: text.md, prompt: "Send it?", transitions: {approved: Clean Up, feedback: First-Draft, abort: halt}}
  Clean Up: {type: single, agent: ann, prompt: Tidy., input: text.md, output: done.md, transitions: {success: complete, failure: halt}}
"""
STEPS = """\
version: "1.0"
name: build
steps:
  - {name: Fetch All, command: [echo, fetched], on: {success: {goto: Each File}, failure: {error: no}}}
  - name: Each File
    for_each:
      items: [a, b]
      steps:
        - {name: Check One, command: [sh, -c, 'echo ${item}; test ${item} = a'], on: {success: {goto: _loop_continue}, failure: {error: "bad file"}}}
    on: {success: {goto: _end}, failure: {error: no}}
"""
GATES = """\
workflow: {id: X, name: The X task}
steps:
  - {id: X-1, name: write-tests, agent: {type: implementor, launch: headless}, outputs: [a.txt], gate: XG-1}
gates:
  - {id: XG-1, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: X-1}, max_retries: 2}
"""
CONFIG = "agents: {cast: {type: scripted, script: cast.yaml}}\nroles: {implementer: {agent: cast}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {"tools/ann": "#!/bin/sh\ncat >/dev/null\necho a text $$\n", "workspace/keep": "", ".podium/config.yaml": CONFIG,
             "cast.yaml": "- {match: {step: write_tests}, write: {a.txt: x}}\n",
             "letters.yaml": STATES, "build.yaml": STEPS, "task.yaml": GATES}  # fmt: skip
    with closing(new_project(tmp_path, files)) as made:
        (made.root / "tools/ann").chmod(0o755)
        made.git("commit", "-q", "-a", "-m", "programs")
        yield made


def test_questions_and_answers_use_the_names_of_the_states(project: Project) -> None:
    asked = project.podium("run", "letters.yaml")
    assert asked.code == 6
    assert "First-Draft: passed" in asked.err
    run = project.run_id()
    assert f"podium approve {run} ask-owner " in asked.err
    for command in (("inbox",), ("show",), ()):
        shown = project.podium(*command).out
        assert "ask-owner" in shown
        assert "ask_owner" not in shown

    unknown = project.podium("approve", run, "nothing")
    assert (unknown.code, "it waits at: ask-owner" in unknown.err) == (2, True)
    back = project.podium("reject", run, "ask-owner", "--feedback", "Longer")
    assert (back.code, "ask-owner: rejected by ann" in back.err) == (6, True)
    done = project.podium("approve", run)
    assert (done.code, "Clean Up: passed" in done.err) == (0, True), done.err
    assert "Clean Up" in project.podium("show").out
    assert project.podium("prompt", run, "Clean Up").out.startswith("Tidy.")
    assert "==> Clean Up attempt 1: " in project.podium("logs", run, "Clean Up").out
    assert project.podium("diff", run, "Clean Up").code == 0
    summary = (project.root / f".podium/runs/{run}/run_summary.md").read_text()
    assert "| `ask-owner~2` |" in summary
    assert "_owner" not in summary

    again = project.podium("rerun", run, "Clean Up", "--yes")
    assert (again.code, "begins with  Clean Up" in again.err) == (0, True)
    labels = project.podium("show", "--json").data()["labels"]
    assert labels == {"first_draft": "First-Draft", "ask_owner": "ask-owner", "clean_up": "Clean Up"}


def test_a_run_returns_to_a_state_by_its_name(project: Project) -> None:
    assert project.podium("run", "letters.yaml").code == 6
    back = project.podium("jump", "@1", "First-Draft", "-m", "Begin again")
    assert (back.code, "First-Draft~2: passed" in back.err) == (6, True)
    assert "Begin again" in project.podium("prompt", "@1", "First-Draft").out
    nowhere = project.podium("jump", "@1", "Clean Up")
    assert (nowhere.code, "choose from First-Draft, ask-owner" in nowhere.err) == (2, True), nowhere.err


def test_a_failure_in_a_loop_is_shown_by_the_names_of_the_steps(project: Project) -> None:
    failed = project.podium("run", "build.yaml", "--sandbox", "none")
    assert failed.code == 1
    shown = project.podium("show").out
    assert "Each File[2]/Check One" in shown
    assert "/check_one" not in failed.err + shown
    assert "==> Each File[2]/Check One attempt 1: " in project.podium("logs", "@1", "Check One").out
    assert "Each File[2]/Check One" in project.podium("logs", "@1", "--failed").out


def test_steps_and_gates_have_their_ids(project: Project) -> None:
    asked = project.podium("run", "task.yaml")
    assert asked.code == 6, asked.err
    run = project.run_id()
    shown = project.podium("show").out
    assert f"podium approve {run} 'X-1#1/XG-1'" in shown
    assert "write_tests" not in shown
    assert project.podium("approve", run, "X-1#1/XG-1").code == 0
    assert "a.txt" in project.podium("diff", run, "X-1").out
    assert "a.txt" in project.git("ls-tree", "-r", "--name-only", "main")

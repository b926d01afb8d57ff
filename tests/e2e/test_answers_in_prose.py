"""R062, R063: values inside Markdown, and terminal colours in the answers of agents, through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
agents: {it: {type: command, command: [cat, answer.md], price: {input: 0, output: 0}}}
steps:
  ask:
    agent: it
    prompt: How many?
    output: {schema: {count: int}, file: said.json}
    retry: {attempts: 1, repair: 0, on_exhausted: fail}
"""
FENCED = 'Here it is:\n\n```json\n{"count": 3}\n```\n\nCheck it with:\n\n```sh\nls | wc -l\n```\n'


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, {"flow.yaml": FLOW}, git=False)) as made:
        yield made


def run(project: Project, answer: str) -> tuple[int, Any, str]:
    project.put({"answer.md": answer})
    done = project.podium("run", "flow.yaml", "--sandbox", "none")
    [ended] = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
    return done.code, ended["result"], done.err


@pytest.mark.req("R062")
def test_the_only_fenced_value_in_prose_is_read_and_the_log_says_so(project: Project) -> None:
    code, result, err = run(project, FENCED)

    assert code == 0, err
    assert (result["output"], result["read_as"]) == ({"count": 3}, "fenced")
    [file] = project.root.glob(".podium/runs/*/artifacts/ask/said.json")
    assert json.loads(file.read_text()) == {"count": 3}


@pytest.mark.req("R062")
@pytest.mark.parametrize(
    "answer",
    [
        FENCED + '\nOr rather:\n\n```json\n{"count": 4}\n```\n',
        'It is {"count": 3}, I think.\n',
        "```\none\n```\nand\n```\ntwo\n```\n",
        'So:\n```json\n{"count": 3,}\n```\n',
    ],
)
def test_a_value_that_would_have_to_be_guessed_is_refused(project: Project, answer: str) -> None:
    code, result, _ = run(project, answer)

    assert code == 1
    assert "read_as" not in result


@pytest.mark.req("R063")
def test_terminal_colours_are_removed_from_answers(project: Project) -> None:
    code, result, err = run(project, '\x1b[1;32m{"count": \x1b[31m3}\x1b[0m\n')

    assert code == 0, err
    assert result["output"] == {"count": 3}
    assert "read_as" not in result
    assert "\x1b" not in result["text"]


@pytest.mark.req("R063")
def test_a_text_answer_is_kept_without_colours(project: Project) -> None:
    project.put({"flow.yaml": FLOW.replace("{schema: {count: int}, file: said.json}", "{file: said.txt}")})
    code, result, err = run(project, "\x1b[1mbold\x1b[0m and \x1b]0;title\x07plain\n")

    assert code == 0, err
    assert result["text"] == "bold and plain\n"
    [file] = project.root.glob(".podium/runs/*/artifacts/ask/said.txt")
    assert file.read_text() == "bold and plain\n"

"""A program that packs the context, and token counts that follow what a model reports (issue 21)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

COMMAND = """\
podium: 1
name: flow
secrets: [TOKEN]
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  think:
    agent: w
    prompt: Look at it
    touches: []
    secrets: [TOKEN]
    context: {strategy: {command: ARGV}, budget: BUDGET}
"""
CAST = "- {text: done}\n"


def packed(project: Project) -> dict[str, Any]:
    text = project.podium("context", "latest", "think", "--json").out
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def with_command(folder: Path, argv: str, budget: str = "4k", token: str = "x" * 12) -> Project:
    flow = COMMAND.replace("ARGV", argv).replace("BUDGET", budget)
    project = new_project(folder, {"w.yaml": flow, "cast.yaml": CAST, "notes.txt": "the moon is round\n"})
    project.env["TOKEN"] = token
    return project


def test_what_the_program_prints_is_part_of_the_prompt(tmp_path: Path) -> None:
    argv = """[sh, -c, 'cat notes.txt; echo "token=${TOKEN:-none}"; echo changed > notes.txt']"""
    with closing(with_command(tmp_path, argv)) as project:
        done = project.podium("run", "w.yaml")

        assert done.code == 0, done.err
        prompt = project.podium("prompt", "latest", "think").out
        assert "the moon is round\ntoken=none" in prompt
        (part,) = packed(project)["parts"]
        assert (part["part"], part["path"], part["form"]) == ("command", "sh", "whole")
        assert (project.root / "notes.txt").read_text() == "the moon is round\n"


def test_a_long_output_is_cut_to_the_budget_and_named(tmp_path: Path) -> None:
    with closing(with_command(tmp_path, "[seq, '1', '20000']", "2k")) as project:
        assert project.podium("run", "w.yaml").code == 0

        manifest = packed(project)
        assert manifest["parts"][0]["form"] == "cut"
        assert manifest["tokens"] <= 2000
        assert manifest["left_out"][0]["reason"] == "only a part fits"


def test_a_program_that_fails_ends_the_step_with_what_it_said(tmp_path: Path) -> None:
    with closing(with_command(tmp_path, "[sh, -c, 'echo no such folder >&2; exit 3']")) as project:
        done = project.podium("run", "w.yaml")

        assert done.code == 1
        assert "the command of context.strategy failed" in done.out + done.err


def test_it_cannot_be_together_with_hidden_files(tmp_path: Path) -> None:
    with closing(with_command(tmp_path, "[ls]")) as project:
        text = (project.root / "w.yaml").read_text()
        (project.root / "w.yaml").write_text(f"{text}    workspace: {{hide: [notes.txt]}}\n")

        done = project.podium("validate", "w.yaml")
        assert "cannot be together with hide" in done.out + done.err


def test_counts_follow_what_the_model_reports(tmp_path: Path) -> None:
    """Six prompts, each reported with twice the tokens that the rule counts."""
    flow = """\
podium: 1
name: flow
limits: {unknown_cost: count_tokens}
agents: {it: {type: api, model: m, base_url: 'URL/v1', price: {input: 0, output: 0}}}
inputs: {n: string}
steps:
  think: {agent: it, prompt: "Look {{ inputs.n }}", touches: [], context: {include: [notes.txt], budget: 8k}}
"""
    notes = "the moon is round and bright\n" * 120
    with ModelServer(Rule(text="seen", usage=Tokens(input=2400, output=3))) as server:
        files = {"w.yaml": flow.replace("URL", server.url), "notes.txt": notes}
        with closing(new_project(tmp_path, files)) as project:
            counters = []
            for number in range(6):
                done = project.podium("run", "w.yaml", "--yes", "-i", f"n={number}")
                assert done.code == 0, done.err
                counters.append(packed(project)["counter"])
    assert counters[:5] == ["words"] * 5
    assert str(counters[5]).startswith("words x ")

"""Compiling what files of other formats need: literal prompts, saved outputs, and the author's names."""

from __future__ import annotations

from pathlib import Path

from podium.core.model import Agent, Labels
from tests.workflow.compiling import compile_text, errors, only_step, verb_of


def test_stdin_is_the_whole_prompt_of_a_worker(tmp_path: Path) -> None:
    rest = "roles: {w: {agent: claude, prompt: From the role}}"
    agent = verb_of(only_step(tmp_path, "{role: w, stdin: prompts/a.md}", rest), Agent)
    assert (agent.prompt, agent.stdin) == (None, "prompts/a.md")
    joined = verb_of(only_step(tmp_path / "b", "{agent: claude, stdin: [a.md, b.md]}"), Agent)
    assert joined.stdin == ("a.md", "b.md")


def test_an_output_file_can_be_written_to_the_project(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{run: ls, output: {file: a.txt, folder: out}}")
    assert (step.output.file, step.output.folder) == ("a.txt", "out")
    text = "podium: 1\nsteps: {a: {run: ls, output: {folder: out}}}\n"
    assert errors(tmp_path / "b", text) == [(5, '"folder" needs "file": it is where that file is written')]


def test_labels_are_the_names_that_the_author_uses(tmp_path: Path) -> None:
    rest = "labels: {steps: {a: Build it}, vars: {x: X}}\nvars: {x: '1'}"
    workflow = compile_text(tmp_path, f"podium: 1\n{rest}\nsteps: {{a: {{run: ls}}}}\n")
    assert workflow.labels == Labels({"a": "Build it"}, {"x": "X"})
    assert errors(tmp_path / "b", "labels: {steps: {a: Build it}}\nsteps: {a: {run: ls, when: x}}") != []

"""What cannot be carried out yet is said by name before a run exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.ability import missing
from podium.app.workflows import open_workflow

HEAD = "podium: 1\nname: flow\nagents:\n  w: {type: scripted, script: cast.yaml}\n"
THERE = {"scripted": None, "command": None}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("  a: {run: [echo, x]}\n", None),
        ("  a: {agent: w, prompt: x}\n", None),
        ("  a: {agent: human, prompt: x}\n", None),
        ("  a: {agent: claude, fallback: [w], prompt: x}\n", None),
        ("  a: {agent: claude, prompt: x}\n", 'step "a" (line 6): agent "claude" of type "claude"'),
        ("  a: {role: planner, prompt: x}\n", "no agent is named"),
        ("  a: {for_each: [1, 2], agent: codex, prompt: x}\n", 'agent "codex"'),
        ("  a: {steps: {b: {agent: gemini, prompt: x}}}\n", 'step "b" (line 6)'),
        ("  a: {agent: w, prompt: x, gates: [{review: claude}]}\n", 'agent "claude"'),
        ('  a: {git: {land: main, message: x}, gates: [{human: "Sure?"}]}\n', "people as gates of git"),
        ("  a: {run: [echo, x], sandbox: container}\n", "sandbox container"),
    ],
)
def test_each_thing_is_named_with_its_step(tmp_path: Path, steps: str, said: str | None) -> None:
    (tmp_path / "cast.yaml").write_text("[]\n")
    file = tmp_path / "flow.yaml"
    file.write_text(f"{HEAD}steps:\n{steps}")
    workflow = open_workflow(file, project=tmp_path)

    found = missing(workflow, THERE)  # type: ignore[arg-type]  # only the names count

    assert found == () if said is None else said in "\n".join(found)


def test_weaker_walls_that_the_user_typed_are_enough(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("podium: 1\nname: flow\nsteps:\n  a: {run: [echo, x], sandbox: bubblewrap}\n")
    workflow = open_workflow(file, project=tmp_path)

    assert missing(workflow, {}, sandbox="limits") == ()

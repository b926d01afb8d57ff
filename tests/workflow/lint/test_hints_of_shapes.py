"""A value of the wrong shape comes with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.compiling import load_text


@pytest.mark.parametrize(
    ("step", "message", "hint"),
    [
        ("run: x, secrets: KEY", '"secrets" must be a list', "write [KEY]"),
        ("run: x, gates: {run: y}", '"gates" must be a list', "write it in brackets: [{...}, {...}]"),
        ("role: planner, prompt: x, output: Plan", '"output" must be text, lines, json or a map', "write {schema: Plan}"),
        (
            "role: planner, prompt: x, output: int",
            '"output" must be text, lines, json or a map',
            "for typed fields write {schema: {name: string}}",
        ),
        ("role: planner, prompt: x, output: {schema: int}", "schema int does not exist", "name the value: write {value: int}"),
        ("role: planner, prompt: x, output: {schema: Pln}", "schema Pln does not exist", 'did you mean "Plan"?'),
    ],
)  # fmt: skip
def test_a_wrong_shape_has_a_hint(tmp_path: Path, step: str, message: str, hint: str) -> None:
    problems = load_text(tmp_path, f"steps:\n  a: {{{step}}}\n").errors

    assert [(each.message, each.hint) for each in problems] == [(message, hint)]

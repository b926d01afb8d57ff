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


def test_a_value_that_may_be_a_list_or_a_map_says_so(tmp_path: Path) -> None:
    config = {".podium/config.yaml": "notify: team\n"}
    (problem,) = load_text(tmp_path, "steps:\n  a: {run: x}\n", config).errors

    assert problem.message == '"notify" must be a list or a map'

"""Names before a run: inputs, and variables that no step sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.core.expressions.nodes import NeedFact
from podium.core.queries.static_names import StaticNames, static_names
from tests.workflow.compiling import compile_text

TEXT = "vars: {fixed: 1, moving: 2}\nsteps:\n  go: {set: {moving: 3}}\n"


@pytest.fixture
def names(tmp_path: Path) -> StaticNames:
    return static_names(compile_text(tmp_path, TEXT), {"task": "x"})


def test_inputs_and_variables_that_stay_are_known(names: StaticNames) -> None:
    assert names.lookup("inputs")["task"] == "x"
    assert names.lookup("vars")["fixed"] == 1
    assert len(names.lookup("vars")) == 1


@pytest.mark.parametrize(
    "read",
    [
        lambda names: names.lookup("vars")["moving"],
        lambda names: names.lookup("inputs")["other"],
        lambda names: list(names.lookup("inputs")),
        lambda names: names.lookup("steps"),
        lambda names: names.fact(("exists", "a")),
    ],
)
def test_what_only_a_run_knows_is_never_taken_for_missing(names: StaticNames, read: Any) -> None:
    with pytest.raises(NeedFact):
        read(names)

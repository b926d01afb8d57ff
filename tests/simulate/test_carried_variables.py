"""Variables that a loop hands on from one iteration to the next, and to the steps after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import open_workflow
from podium.core.addresses import ROOT
from podium.core.queries.names import InstanceNames
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate


def variables_after(folder: Path, steps: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nvars: {{seen: '', own: kept}}\nsteps:\n{steps}")
    (folder / "child.yaml").write_text("podium: 1\nvars: {seen: ''}\nsteps: {a: {set: {seen: inner}}}\n")
    state = simulate(open_workflow(path), RandomWorld(1)).state
    names = InstanceNames(state, state.instances[ROOT], inside=True).lookup("vars")
    return {name: names[name] for name in ("seen", "own")}


@pytest.mark.req("R046")
def test_a_carried_variable_leaves_its_iteration_and_others_do_not(tmp_path: Path) -> None:
    steps = (
        "  each:\n    for_each: {in: [a, b], carry: seen}\n"
        '    set: {seen: "${{ vars.seen }}${{ item }}", own: "${{ item }}"}\n'
    )
    assert variables_after(tmp_path, steps) == {"seen": "ab", "own": "kept"}


@pytest.mark.req("R046")
@pytest.mark.parametrize(("inner", "seen"), [("carry: seen", "acadbcbd"), ("key: inner", "ab")])
def test_a_variable_leaves_nested_loops_as_far_as_they_carry_it(
    tmp_path: Path, inner: str, seen: str
) -> None:
    steps = (
        "  outer:\n    for_each: {in: [a, b], as: outer, carry: seen}\n    steps:\n"
        + ('      one: {set: {seen: "${{ vars.seen }}${{ outer }}"}}\n' if inner.startswith("key") else "")
        + f"      two:\n        for_each: {{in: [c, d], as: inner, {inner}}}\n"
        + '        set: {seen: "${{ vars.seen }}${{ outer }}${{ inner }}"}\n'
    )
    assert variables_after(tmp_path, steps)["seen"] == seen


def test_a_variable_of_a_called_workflow_stays_there(tmp_path: Path) -> None:
    steps = "  each: {for_each: {in: [a], carry: seen}, workflow: child.yaml}\n"
    assert variables_after(tmp_path, steps)["seen"] == ""

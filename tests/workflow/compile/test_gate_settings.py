"""What the gates of a step take over from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.compiling import gates_of, only_step


@pytest.mark.parametrize(
    ("network", "expected"), [("", None), (", network: [files.example]", ("files.example",))]
)
def test_a_gate_is_set_up_like_its_step_and_with_its_network(
    network: str, expected: object, tmp_path: Path
) -> None:
    body = (
        f"run: x, workspace: {{mode: inplace, setup: [[make, x]], copy: [a]}}{network}, gates: [{{run: y}}]"
    )
    step = only_step(tmp_path, f"{{{body}}}", rest="\nworkspace: {copy: [b], ports: 1}")
    [gate] = gates_of(step).members
    workspace = gate.settings.workspace
    assert (workspace.setup, workspace.copy, workspace.ports) == ((("make", "x"),), ("a",), 1)
    assert workspace.mode is None, "a gate judges a checkout, never the project itself"
    assert (workspace.network, gate.settings.network) == (expected, None)


@pytest.mark.parametrize(
    ("top", "own", "expected"),
    [
        ("", "", None),
        ("baseline: refuse", "", "refuse"),
        ("baseline: refuse", ", baseline: ignore", "ignore"),
        ("", ", baseline: warn", "warn"),
    ],
)
def test_a_gate_has_the_baseline_of_the_file_unless_it_says_it_itself(
    top: str, own: str, expected: object, tmp_path: Path
) -> None:
    step = only_step(tmp_path, f"{{run: x, gates: [{{run: y{own}}}]}}", rest=f"\n{top}")
    [gate] = gates_of(step).members

    assert gate.settings.baseline == expected
    assert step.settings.baseline == (None if not top else "refuse"), "a step that runs a command is one too"

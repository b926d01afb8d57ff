"""With `strict: true`, `on` must name every possible outcome or have `else` (language.md 5, rule 30)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from podium.adapters.agents.registry import agent_types
from podium.workflow.load import Loaded, load

PART: Final = "{k: {run: x, on: {passed: next, else: fail}}}"
STRICT: Final = [
    ("agent", "role: planner, prompt: Do it.", "failed blocked timeout error"),
    (
        "agents",
        "agent: [claude, gemini], prompt: Do it., join: discard",
        "partial failed blocked timeout error",
    ),
    ("run", "run: x", "failed timeout error"),
    ("review", "review: reviewer, of: start", "rejected aborted timeout error"),
    ("human", "human: 'Good?'", "rejected aborted timeout"),
    ("check", "check: 1 == 1", "failed"),
    ("signal", "wait: {signal: go}", "timeout error"),
    ("poll", "wait: {poll: [ci], every: 1m}", "failed timeout error"),
    ("set", "set: {v: 1}", ""),
    ("git", "git: {land: main, message: m}", "failed conflict error"),
    ("steps", f"steps: {PART}", "failed timeout"),
    ("parallel", f"parallel: true, join: discard, steps: {PART}", "partial failed timeout"),
    ("queue", f"parallel: true, join: queue, steps: {PART}", "partial failed timeout conflict"),
    ("workflow", "workflow: child.yaml", "failed timeout error"),
    ("for_each", "run: x, for_each: [1, 2]", "partial failed timeout error"),
    ("check_each", "check: 1 == 1, for_each: [1, 2]", "partial failed"),
    ("repeat", "set: {v: 1}, repeat: {until: 1 == 1, max: 2}", "failed"),
    ("gate_run", "git: {land: main, message: m}, gates: [{run: y}]", "failed conflict error"),
    ("gate_human", "run: x, gates: [{human: ok}]", "failed aborted timeout error"),
    ("gate_review", "run: x, touches: [a], gates: [{review: reviewer}]", "failed aborted timeout error"),
]
"""A name, the step `x`, and its possible failures by language.md 3."""
CASES: Final = [pytest.param(step, ("passed", *failures.split()), id=name) for name, step, failures in STRICT]
ONE_LEFT: Final = [
    pytest.param(step, ("passed", *failures.split()), left, id=f"{name}-{left}")
    for name, step, failures in STRICT
    for left in ("passed", *failures.split())
]


def checked(folder: Path, step: str, on: Iterable[str], *, strict: bool = True) -> Loaded:
    """Validate a workflow with the step and these routes, after a step that it can judge."""
    routes = ", ".join(f"{outcome}: next" for outcome in on)
    (folder / "child.yaml").write_text("podium: 1\nname: child\nsteps: {a: {run: y}}\n")
    (folder / "flow.yaml").write_text(
        f"podium: 1\nname: flow\nstrict: {str(strict).lower()}\nsteps:\n"
        "  start: {role: planner, prompt: Plan., on: {passed: next, else: fail}}\n"
        f"  x: {{{step}, on: {{{routes}}}}}\n"
    )
    return load(folder / "flow.yaml", agent_types=agent_types(), project=folder, user_dir=folder)


def complaints(problems: Loaded) -> list[tuple[int, str]]:
    return [(problem.rule, problem.message) for problem in problems.errors]


@pytest.mark.parametrize(("step", "outcomes"), CASES)
def test_a_strict_step_with_a_route_for_every_outcome_is_accepted(
    tmp_path: Path, step: str, outcomes: tuple[str, ...]
) -> None:
    """R027 R029"""
    assert complaints(checked(tmp_path, step, outcomes)) == []


@pytest.mark.parametrize(("step", "outcomes"), CASES)
def test_else_covers_every_failure_but_not_the_pass(
    tmp_path: Path, step: str, outcomes: tuple[str, ...]
) -> None:
    """R027: `else` applies to every failure without its own route."""
    otherwise = ("else",) if len(outcomes) > 1 else ()
    assert complaints(checked(tmp_path, step, ("passed", *otherwise))) == []

    assert complaints(checked(tmp_path, step, otherwise)) == [(30, 'strict: "x" does not route "passed"')]


@pytest.mark.req("R030", "C8")
@pytest.mark.parametrize(("step", "outcomes", "left"), ONE_LEFT)
def test_a_strict_step_without_a_route_for_an_outcome_is_refused_with_its_name(
    tmp_path: Path, step: str, outcomes: tuple[str, ...], left: str
) -> None:
    """R027 R029: rule 30."""
    problems = checked(tmp_path, step, (outcome for outcome in outcomes if outcome != left))

    assert problems.workflow is None
    assert complaints(problems) == [(30, f'strict: "x" does not route "{left}"')]


@pytest.mark.req("R030", "C8")
@pytest.mark.parametrize(("step", "outcomes"), CASES)
def test_without_strict_no_outcome_needs_a_route(
    tmp_path: Path, step: str, outcomes: tuple[str, ...]
) -> None:
    assert complaints(checked(tmp_path, step, (), strict=False)) == []

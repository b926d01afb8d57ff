"""`defaults` and `context.max_budget`: what steps get that state nothing themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check
from podium.core.model import Step, Workflow


def compiled(folder: Path, text: str) -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{text}", "utf-8")
    checked = check(path)
    assert [problem.render() for problem in checked.errors] == []
    assert checked.workflow is not None
    return checked.workflow


def one(folder: Path, step: str, text: str) -> Step:
    return compiled(folder, f"{text}\nsteps: {{one: {{{step}}}}}\n").body.steps[0]


AGENT = "agent: claude, prompt: Go."


@pytest.mark.parametrize(
    ("step", "defaults", "seconds"),
    [
        (AGENT, "timeout: 90s", 90),
        ("run: make", "timeout: 90s", 90),
        (f"{AGENT}, timeout: 5s", "timeout: 90s", 5),
        (AGENT, "timeout: 90s, steps: {one: {timeout: 7s}}", 7),
        (AGENT, "steps: {two: {timeout: 7s}}", 1200),
        ("role: slow, prompt: Go.", "timeout: 90s", 60),
    ],
)
def test_the_nearest_timeout_applies(tmp_path: Path, step: str, defaults: str, seconds: int) -> None:
    text = f"roles: {{slow: {{description: x, system: x, timeout: 60s}}}}\ndefaults: {{{defaults}}}"
    assert one(tmp_path, step, text).timeout == seconds * 1000


@pytest.mark.parametrize(
    ("step", "defaults", "attempts"),
    [
        (AGENT, "retry: {attempts: 7}", 7),
        (f"{AGENT}, retry: 2", "retry: {attempts: 7}", 2),
        (AGENT, "retry: none, steps: {one: {retry: aggressive}}", 5),
        ("run: make", "retry: {attempts: 7}", 1),
        ("run: make", "steps: {one: {retry: 4}}", 4),
    ],
)
def test_the_nearest_retry_applies_and_that_for_all_steps_only_to_agents(
    tmp_path: Path, step: str, defaults: str, attempts: int
) -> None:
    assert one(tmp_path, step, f"defaults: {{{defaults}}}").retry.attempts == attempts


@pytest.mark.parametrize(
    ("context", "budget"),
    [
        ("budget: 9k, max_budget: 5k", 5_000),
        ("budget: 3k, max_budget: 5k", 3_000),
        ("max_budget: 50k", 30_000),
    ],
)
def test_no_budget_exceeds_the_largest(tmp_path: Path, context: str, budget: int) -> None:
    assert one(tmp_path, AGENT, f"context: {{{context}}}").settings.context.budget == budget


def test_a_preset_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(
        "podium: 1\nname: flow\ndefaults: {steps: {one: {retry: fats}}}\nsteps: {one: {run: make}}\n", "utf-8"
    )
    assert any('retry preset "fats"' in problem.message for problem in check(path).errors)


@pytest.mark.parametrize(
    ("text", "is_warned"),
    [
        ("limits: {window: 80%}\nsteps: {one: {agent: codex, prompt: Go.}}\n", True),
        ("steps: {one: {agent: codex, prompt: Go., limits: {window: 80%}}}\n", True),
        ("limits: {window: 80%}\nsteps: {one: {agent: claude, prompt: Go.}}\n", False),
        (
            "limits: {window: 80%}\nagents: {mine: {type: gemini}}\nsteps: {one: {agent: mine, prompt: Go.}}\n",
            True,
        ),
    ],
)
def test_a_window_that_no_agent_reports_is_warned_about(tmp_path: Path, text: str, is_warned: bool) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{text}", "utf-8")
    messages: list[Any] = [problem.message for problem in check(path).warnings]
    assert any("window cannot be enforced" in message for message in messages) is is_warned

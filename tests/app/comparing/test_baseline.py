"""The workflow that a single agent gets in place of a team."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podium.app.author.load import load_workflow
from podium.app.comparing.baseline import Money, baseline_text
from podium.core.model import Agent, Review
from podium.core.queries.steps import all_steps
from podium.errors import ConfigurationError

ROOT = Path(__file__).parents[3]
FILES = (
    ROOT / "examples/ship_change/workflow.yaml",
    ROOT / "examples/plan_to_commit/workflow.yaml",
    ROOT / "examples/scan_fix_verify/workflow.yaml",
    ROOT / "examples/review_loop/workflow.yaml",
    *sorted((ROOT / "src/podium/data/templates").glob("*.yaml")),
)
NO_WRITER = ("panel.yaml",)


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    "path", [file for file in FILES if file.name not in NO_WRITER], ids=lambda path: path.stem
)
def test_one_agent_has_the_gates_limits_and_attempts_of_the_team(path: Path, tmp_path: Path) -> None:
    team = load_workflow(path).workflow
    text = baseline_text(path)
    file = tmp_path / path.name
    file.write_text(text)
    single = load_workflow(file).workflow
    steps = [step for _, step, _ in all_steps(single)]
    (step,) = [each for each in steps if isinstance(each.verb, Agent)]
    writers = [
        each
        for _, each, _ in all_steps(team)
        if isinstance(each.verb, Agent) and not each.verb.judge and each.touches != ()
    ]

    assert not [each for each in steps if isinstance(each.verb, Review)]
    assert step.retry.attempts == sum(each.retry.attempts for each in writers)  # type: ignore[misc]  # all are numbers
    assert step.verb.role == writers[-1].verb.role  # type: ignore[union-attr]
    assert single.limits == team.limits
    prompt = yaml.safe_load(text)["steps"]["work"]["prompt"]
    assert "steps." not in prompt
    for name in ("baseline", "single agent", "compare"):
        assert name not in prompt


def test_money_is_a_limit_with_many_attempts() -> None:
    root = yaml.safe_load(baseline_text(FILES[0], agent="codex", model="small", money=Money(1.5, 0.25)))

    assert root["limits"]["usd"] == 1.5
    step = root["steps"]["work"]
    assert (step["agent"], step["model"], step["estimate"]) == ("codex", "small", {"usd": 0.25})
    assert step["retry"]["attempts"] == 50


def test_a_workflow_that_changes_nothing_has_no_baseline() -> None:
    with pytest.raises(ConfigurationError, match="has no step that writes"):
        baseline_text(ROOT / "src/podium/data/templates/panel.yaml")

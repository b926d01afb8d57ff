"""A workflow may not choose other agents more easily than the project or the user allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.kit import messages
from tests.workflow.merge.test_config_layers import merge_flow


@pytest.mark.parametrize(
    ("project", "flow", "fact"),
    [
        ("{policy: rule}", "{policy: thompson}", "adaptive.policy: thompson allows more than rule"),
        ("{min_samples: 20}", "{min_samples: 5}", "adaptive.min_samples: 5 allows more than 20"),
        ("{max_deviation: 0.1}", "{max_deviation: 0.3}", "adaptive.max_deviation: 0.3 allows more than 0.1"),
        (
            "{explore: {first: 0.1, later: 0}}",
            "{explore: {first: 0.1, later: 0.2}}",
            "adaptive.explore.later: 0.2 allows more than 0",
        ),
    ],
)
def test_a_workflow_may_not_choose_other_agents_more_easily(
    tmp_path: Path, project: str, flow: str, fact: str
) -> None:
    merged = merge_flow(tmp_path, project=f"adaptive: {project}", flow=f"adaptive: {flow}\n")

    assert [problem.message.partition(",")[0] for problem in merged.problems] == [fact]


@pytest.mark.parametrize(
    ("project", "flow"),
    [
        ("{policy: thompson, edge: 0.05}", "{policy: rule, edge: 0.1}"),
        ("{min_samples: 20}", "{policy: rule}"),
        ("{half_life: 10}", "{half_life: 60}"),
        ("{locked: {planner: a}}", "{locked: {planner: a, writer: b}}"),
    ],
)
def test_a_workflow_may_be_more_careful_with_other_agents(tmp_path: Path, project: str, flow: str) -> None:
    assert messages(merge_flow(tmp_path, project=f"adaptive: {project}", flow=f"adaptive: {flow}\n")) == []


def test_a_workflow_may_not_unlock_a_role(tmp_path: Path) -> None:
    merged = merge_flow(
        tmp_path,
        project="adaptive: {locked: {planner: claude}}",
        flow="adaptive: {locked: {planner: codex}}\n",
    )

    assert len(merged.problems) == 1
    assert "adaptive.locked" in merged.problems[0].message


def test_a_share_is_a_number_from_0_to_1(tmp_path: Path) -> None:
    assert messages(merge_flow(tmp_path, project="adaptive: {edge: 2}")) == [
        'config.yaml:1: "edge" must be a number from 0 to 1'
    ]

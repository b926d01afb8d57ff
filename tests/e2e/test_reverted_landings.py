"""A landing that is reverted in git makes the verdict that approved it a wrong one (`podium metrics reviewers`)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import PEOPLE, Project, closing, new_project

pytestmark = pytest.mark.slow

WORKFLOW = """
podium: 1
name: change
limits: {usd: 5}
agents:
  worker: {type: command, command: [sh, -c, "date +%N > out.txt; echo done"], price: {input: 0, output: 0}}
  judge: {type: command, command: [sh, review.sh], price: {input: 0, output: 0}}
steps:
  work: {agent: worker, prompt: Work., touches: [out.txt]}
  judge: {review: judge, of: work}
  land: {git: {land: "${{ run.branch }}", message: Change out.txt}}
"""
REVIEW = """
prompt=$(cat)
nonce=$(printf '%s' "$prompt" | sed -n 's/^nonce: //p' | tail -1)
tree=$(printf '%s' "$prompt" | sed -n 's/^tree: //p' | tail -1)
echo '{"decision": "approve", "score": 9, "findings": [], "summary": "fine", "nonce": "'$nonce'", "tree": "'$tree'"}'
"""


def verdicts(project: Project) -> tuple[list[int], list[int], int]:
    """Of the bad trees those that were caught, of the good ones those that were approved, and verdicts without a label."""
    done = project.podium("metrics", "reviewers", "--json")
    assert done.code == 0, done.err
    (table,) = done.data()["tables"]
    row: dict[str, Any] = table["rows"][0]
    pairs = [[row[key]["hits"], row[key]["total"]] for key in ("caught", "let_pass")]
    return pairs[0], pairs[1], row["unlabelled"]


def test_a_reverted_landing_makes_the_approval_wrong_until_the_revert_is_reverted(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {"change.yaml": WORKFLOW, "review.sh": REVIEW})) as project:
        for _ in range(2):
            done = project.podium("run", "change.yaml", "--sandbox", "limits", "--yes")
            assert done.code == 0, done.err
        before = verdicts(project)
        project.git("revert", "--no-edit", "HEAD")
        reverted = verdicts(project)
        project.git("revert", "--no-edit", "HEAD")
        again = verdicts(project)

    assert before == ([0, 0], [0, 0], 2)
    assert reverted == ([0, 1], [0, 0], 1)
    assert again == before


def test_what_was_reverted_years_later_says_nothing_about_the_verdict(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {"change.yaml": WORKFLOW, "review.sh": REVIEW})) as project:
        assert project.podium("run", "change.yaml", "--sandbox", "limits", "--yes").code == 0
        later = {**project.environment(), **PEOPLE, "GIT_COMMITTER_DATE": "2037-01-01T00:00:00Z"}
        subprocess.run(("git", "revert", "--no-edit", "HEAD"), cwd=project.root, env=later, check=True)

        assert verdicts(project) == ([0, 0], [0, 0], 1)

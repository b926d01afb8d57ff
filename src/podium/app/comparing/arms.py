"""What an arm runs, what a run of it may cost at most, and what it may spend in a trial."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from podium.app.author.load import load_workflow
from podium.app.comparing.baseline import Money, baseline_text
from podium.app.comparing.suite import Arm, Suite
from podium.app.comparing.trials import PlannedTrial, TrialResult
from podium.app.values import parse_settings
from podium.errors import ConfigurationError
from podium.files import atomic

LEAST_USD: Final = 0.01
"""What an arm may spend if the arm whose money it has spent nothing: a limit of zero is none."""


def worst_of(suite: Suite, user_dir: Path | None) -> dict[str, float]:
    """The most that one trial of each arm may cost; raises for an arm whose workflow is invalid or has no limit."""
    own = {arm.name: _limit(arm, user_dir) for arm in suite.arms}
    return {
        arm.name: own[arm.single.money] if arm.single and arm.single.money else own[arm.name]
        for arm in suite.arms
    }


def _limit(arm: Arm, user_dir: Path | None) -> float:
    settings = parse_settings(arm.words)
    workflow = load_workflow(arm.workflow, user_dir=user_dir, settings=settings).workflow
    if workflow.limits.usd is None:
        raise ConfigurationError(
            f"arm {arm.name}: {arm.workflow.name} has no limits.usd, so the experiment has no worst case",
            hint="write limits: {usd: ...} into the workflow",
        )
    if arm.single is not None:
        single_text(arm, user_dir)
    return workflow.limits.usd / 1_000_000


def single_text(arm: Arm, user_dir: Path | None, money: Money | None = None) -> str:
    """The workflow that is written for an arm of one agent."""
    assert arm.single is not None
    return baseline_text(
        arm.workflow,
        agent=arm.single.agent,
        model=arm.single.model,
        prompt=arm.single.prompt,
        money=money,
        settings=arm.words,
        user_dir=user_dir,
    )


def put_workflow(arm: Arm, project: Path, money: Money | None, user_dir: Path | None) -> None:
    """The workflow of an arm and what it needs. A written one has the same name, so that nothing tells the arms apart."""
    file = project / arm.workflow.name
    if arm.single is None:
        shutil.copy(arm.workflow, file)
    else:
        atomic.write(file, single_text(arm, user_dir, money).encode())
    for path in arm.bring:
        if path.is_dir():
            shutil.copytree(path, project / path.name, dirs_exist_ok=True)
        else:
            shutil.copy(path, project / path.name)


def money_of(arm: Arm, trial: PlannedTrial, results: Sequence[TrialResult]) -> Money | None:
    """What the arm that is named has spent on the same case and trial, which `results` has."""
    if arm.single is None or not arm.single.money:
        return None
    key = (arm.single.money, trial.case, trial.number)
    spent = next(each for each in results if (each.arm, each.case, each.number) == key)
    usd = max(LEAST_USD, spent.usd)
    return Money(round(usd, 6), round(usd / max(1, spent.attempts), 6))

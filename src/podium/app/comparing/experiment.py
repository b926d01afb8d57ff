"""Runs an experiment: trial after trial, never beyond its budget, from where it was left."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from podium.app.author.load import load_workflow
from podium.app.comparing.perform import OpenProject, perform
from podium.app.comparing.suite import Arm, Suite
from podium.app.comparing.trials import Experiment, PlannedTrial, TrialResult, write_result
from podium.app.values import parse_settings
from podium.errors import ConfigurationError

SLACK: Final = 1e-9


def worst_of(arm: Arm, user_dir: Path | None) -> float:
    """The most that one trial of an arm may cost; raises for an arm whose workflow is invalid or has no limit."""
    workflow = load_workflow(arm.workflow, user_dir=user_dir, settings=parse_settings(arm.words)).workflow
    if workflow.limits.usd is None:
        raise ConfigurationError(
            f"arm {arm.name}: {arm.workflow.name} has no limits.usd, so the experiment has no worst case",
            hint="write limits: {usd: ...} into the workflow",
        )
    return workflow.limits.usd / 1_000_000


def run_experiment(
    experiment: Experiment,
    suite: Suite,
    worst: dict[str, float],
    open_project: OpenProject,
    *,
    sandbox: str | None = None,
    on_result: Callable[[PlannedTrial, TrialResult], None] = lambda _trial, _result: None,
) -> str:
    """Perform the trials that have no result; returns why it stopped early, or an empty text."""
    with _alone(experiment.folder):
        for trial in experiment.trials:
            if experiment.result_file(trial).is_file():
                continue
            spent = sum(result.usd for result in experiment.results())
            if spent + worst[trial.arm] > suite.usd + SLACK:
                return f"${spent:.2f} of ${suite.usd:.2f} are spent, and the next run may cost ${worst[trial.arm]:.2f}"
            result = perform(experiment, suite, trial, open_project, sandbox)
            write_result(experiment, trial, result)
            on_result(trial, result)
    return ""


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process works on an experiment."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(f"another process works on the experiment in {folder}") from None
        yield

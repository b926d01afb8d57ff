"""Runs an experiment: trial after trial, never beyond its budget, from where it was left."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from podium.app.comparing.perform import Circumstances, OpenProject, perform
from podium.app.comparing.suite import Suite
from podium.app.comparing.trials import Experiment, PlannedTrial, TrialResult, write_result
from podium.errors import ConfigurationError

SLACK: Final = 1e-9


def run_experiment(
    experiment: Experiment,
    suite: Suite,
    worst: dict[str, float],
    open_project: OpenProject,
    *,
    sandbox: str | None = None,
    user_dir: Path | None = None,
    on_result: Callable[[PlannedTrial, TrialResult], None] = lambda _trial, _result: None,
) -> str:
    """Perform the trials that have no result; returns why it stopped early, or an empty text."""
    with _alone(experiment.folder):
        for trial in experiment.trials:
            if experiment.result_file(trial).is_file():
                continue
            results = experiment.results()
            spent = sum(result.usd for result in results)
            if spent + worst[trial.arm] > suite.usd + SLACK:
                return f"${spent:.2f} of ${suite.usd:.2f} are spent, and the next run may cost ${worst[trial.arm]:.2f}"
            result = perform(
                experiment, suite, trial, open_project, Circumstances(sandbox, user_dir, results)
            )
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

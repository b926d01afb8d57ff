"""The trials of an experiment in their random order, and their results on disk."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from podium.app.comparing.suite import Suite
from podium.errors import ConfigurationError
from podium.files import atomic


class PlannedTrial(NamedTuple):
    position: int
    case: str
    arm: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.position:04d}-{self.case}-{self.arm}-{self.number}"


class TrialResult(NamedTuple):
    position: int
    case: str
    arm: str
    number: int
    run: str
    status: str
    passed: bool
    """Every grader passed."""
    steady: bool
    """Both gradings of the same tree gave the same answer."""
    usd: float
    unknown_calls: int
    seconds: float
    retries: int
    questions: int
    attempts: int = 1


class Experiment(NamedTuple):
    folder: Path
    seed: int
    trials: tuple[PlannedTrial, ...]

    def result_file(self, trial: PlannedTrial) -> Path:
        return self.folder / "trials" / trial.name / "result.json"

    def results(self) -> list[TrialResult]:
        files = (self.result_file(trial) for trial in self.trials)
        return [TrialResult(**json.loads(file.read_text("utf-8"))) for file in files if file.is_file()]


def ordered_trials(suite: Suite, seed: int) -> tuple[PlannedTrial, ...]:
    """Blocks of one trial of each arm for one case; cases and the arms within a block are shuffled.

    So the time of day, quotas and updates of models affect all arms alike, and an experiment that is stopped has whole blocks.
    """
    luck = random.Random(seed)  # noqa: S311  # not for a secret: the seed is part of the report
    planned: list[PlannedTrial] = []
    for number in range(1, suite.trials + 1):
        for case in luck.sample(suite.cases, len(suite.cases)):
            shuffled = luck.sample(suite.arms, len(suite.arms))
            # An arm that may spend what another one has spent runs after it.
            for arm in sorted(shuffled, key=lambda arm: bool(arm.single and arm.single.money)):
                planned.append(PlannedTrial(len(planned) + 1, case.name, arm.name, number))
    return tuple(planned)


def open_experiment(folder: Path, suite: Suite, seed: int | None) -> Experiment:
    """The experiment in this folder, or a new one; raises if the suite has changed since it began."""
    file = folder / "experiment.json"
    if file.is_file():
        stored = json.loads(file.read_text("utf-8"))
        if stored["fingerprint"] != suite.fingerprint:
            raise ConfigurationError(
                f"the suite has changed since the experiment in {folder} began",
                hint="undo the change, or start another one with --as NAME",
            )
        if seed not in (None, stored["seed"]):
            raise ConfigurationError(f"the experiment in {folder} began with the seed {stored['seed']}")
        return Experiment(folder, stored["seed"], ordered_trials(suite, stored["seed"]))
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.write(file, json.dumps({"fingerprint": suite.fingerprint, "seed": seed}).encode(), fsync=True)
    return Experiment(folder, seed, ordered_trials(suite, seed))


def write_result(experiment: Experiment, trial: PlannedTrial, result: TrialResult) -> None:
    atomic.write(experiment.result_file(trial), json.dumps(result._asdict(), indent=1).encode(), fsync=True)

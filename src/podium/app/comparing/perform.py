"""Performs one trial: an ordinary run in a project of its own, whose final tree is graded twice by commands that the run never saw.

Rule 1: a trial has a result or it has none; the result is the last thing that is written. Rule 2: a trial that was interrupted
continues its run and never starts another one.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.app.comparing.arms import money_of, put_workflow
from podium.app.comparing.repositories import files_at
from podium.app.comparing.suite import Arm, Case, Grader, Suite
from podium.app.comparing.trials import Experiment, PlannedTrial, TrialResult
from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.git.repository import find, make_repository
from podium.git.workdir.checkout import checkout
from podium.process.detach import start_detached, stop
from podium.views.run.view import RunView, elapsed

if TYPE_CHECKING:
    from podium.app.project import Project

OpenProject = Callable[[Path], "AbstractContextManager[Project]"]
READY: Final = "ready"
LOOK_S: Final = 0.1
MOST_ANSWERS: Final = 50
STOP_S: Final = 30.0
REFUSED: Final = 2
STAND_IN: Final = "stand-in"


class Circumstances(NamedTuple):
    sandbox: str | None
    user_dir: Path | None
    results: Sequence[TrialResult]
    """Of the trials before."""


def perform(
    experiment: Experiment,
    suite: Suite,
    trial: PlannedTrial,
    open_project: OpenProject,
    around: Circumstances,
) -> TrialResult:
    arm = next(each for each in suite.arms if each.name == trial.arm)
    case = next(each for each in suite.cases if each.name == trial.case)
    folder = experiment.result_file(trial).parent
    project = folder / case.name
    _wait_for_owner(project)
    if not (folder / READY).exists():
        _prepare(project, case, arm, around, trial)
        (folder / READY).touch()
    level = () if around.sandbox is None else ("--sandbox", around.sandbox)
    settings = arm.words if arm.single is None else ()
    words = _start_words(experiment, suite, trial, case, arm.workflow.name, (*_set(settings), *level))
    answers = _drive(folder, project, words, open_project, approves=suite.approves)
    with open_project(project) as opened:
        view = opened.queries.show(opened.run().run)
        tree = view.tree
    grades = [
        all(
            _grade(folder / f"grade-{number}", project, tree, grader, open_project, level)
            for grader in case.graders
        )
        for number in (1, 2)
    ]
    return _result(trial, view, grades, answers)


def _result(trial: PlannedTrial, view: RunView, grades: list[bool], answers: int) -> TrialResult:
    return TrialResult(
        *trial,
        run=view.run,
        status=view.status,
        passed=all(grades),
        steady=len(set(grades)) == 1,
        usd=view.usd / 1_000_000,
        unknown_calls=view.unknown_calls,
        seconds=elapsed(view, view.at) / 1000,
        retries=sum(max(0, step.tries - 1) for step in view.steps if step.worked),
        questions=answers,
        attempts=sum(step.tries for step in view.steps if step.worked),
    )


def _prepare(project: Path, case: Case, arm: Arm, around: Circumstances, trial: PlannedTrial) -> None:
    """The project of a trial: the files of the case, the workflow and what that needs, in one commit."""
    shutil.rmtree(project, ignore_errors=True)
    if case.commit:
        files_at(case.folder, case.commit, project)
    else:
        shutil.copytree(case.folder, project)
    put_workflow(arm, project, money_of(arm, trial, around.results), around.user_dir)
    make_repository(project)


def _set(settings: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for setting in settings for word in ("--set", setting))


def _start_words(  # a trial and what it is made from
    experiment: Experiment, suite: Suite, trial: PlannedTrial, case: Case, file: str, options: tuple[str, ...]
) -> tuple[str, ...]:
    marker = {
        "suite": suite.name,
        "experiment": f"{suite.fingerprint}-{experiment.seed}",
        "case": case.name,
        "arm": trial.arm,
        "number": trial.number,
        "position": trial.position,
    }
    inputs = [word for name, value in case.inputs.items() for word in ("-i", f"{name}={value}")]
    return ("run", file, *inputs, *options, "--yes", "--trial", json.dumps(marker))


def _drive(
    folder: Path, project: Path, start: tuple[str, ...], open_project: OpenProject, *, approves: bool
) -> int:
    """Drive the run to its end, over interruptions; returns how many answers the stand-in gave."""
    answers = 0
    for _ in range(MOST_ANSWERS):
        with open_project(project) as opened:
            heads = opened.runtime.heads()
            view = opened.queries.show(heads[0].run) if heads else None
        if view is None:
            code = _podium(folder, project, *start)
            if code == REFUSED:
                log = (folder / "podium.log").read_text("utf-8", "replace")[-2_000:]
                raise ConfigurationError(f"the trial {folder.name} could not start:\n{log}")
        elif view.ended is not None:
            return answers
        elif any(each.actions for each in view.pending):
            if not approves:
                return answers
            answers += 1
            _podium(folder, project, "approve", view.run, "--by", STAND_IN)
        else:
            _podium(folder, project, "resume", view.run)
    return answers


def _podium(folder: Path, project: Path, *words: str) -> int:
    """Run a command in the project of the trial. If this process is killed, it continues; `_wait_for_owner` finds it."""
    process = start_detached(*words, cwd=project, output=folder / "podium.log")
    try:
        return process.wait()
    finally:
        stop([process], patience_s=STOP_S)


def _wait_for_owner(project: Path) -> None:
    """Until no command of a killed experiment works in this project any more."""
    while any(_works_in(process, project) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(LOOK_S)


def _works_in(process: Path, project: Path) -> bool:
    with suppress(OSError):
        return (process / "cwd").readlink() == project and b"podium" in (process / "cmdline").read_bytes()
    return False


def _grade(  # a grader, its places, and what it judges
    folder: Path,
    project: Path,
    tree: Tree | None,
    grader: Grader,
    open_project: OpenProject,
    level: tuple[str, ...],
) -> bool:
    """Run a grader on the final tree, with the files that it brings, as a gate in a sandbox of its own."""
    if tree is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "project"
    folder.mkdir(parents=True)
    with open_project(project) as opened:
        repository = find(project, opened.paths.trees)
    if repository is None:
        raise PodiumError(f"{project} is not a git repository any more")
    checkout(repository, tree, target)
    if grader.bring is not None:
        shutil.copytree(grader.bring, target, dirs_exist_ok=True)
    text = json.dumps({"podium": 1, "name": "grade", "steps": {"grade": {"run": {"script": grader.run}}}})
    (target / "podium_grade.yaml").write_text(text)
    make_repository(target)
    _podium(folder, target, "run", "podium_grade.yaml", *level, "--yes", "--no-human")
    with open_project(target) as opened:
        heads = opened.runtime.heads()
        return bool(heads) and opened.queries.show(heads[0].run).status == "passed"

"""`podium compare` on the suites that ship, with scripted agents of known skill (X13, R233)."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SUITES = Path(__file__).parents[2] / "examples" / "compare"
PATIENCE_S = 300


def place_of(folder: Path, *, cases: int, arms: tuple[str, ...], usd: float = 30) -> Project:
    """A project with a copy of a shipped suite that has only some of its cases and arms."""
    project = new_project(folder / "place", {"README.md": "x\n"})
    shutil.copytree(SUITES / "small_bugs", project.root / "bugs")
    text = (project.root / "bugs/suite.yaml").read_text("utf-8")
    head, listed = text.split("cases:\n")
    blocks = ["  " + block for block in listed[2:].split("\n  ") if not block.startswith(" ")]
    names = [line for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert len(names) == len(blocks) or names
    kept = []
    for name in names[:cases]:
        start = listed.index(name)
        following = [listed.index(other) for other in names if listed.index(other) > start]
        kept.append(listed[start : min(following, default=len(listed))])
    lines = [
        line for line in head.splitlines() if not line.startswith("  ") or line.split(":")[0].strip() in arms
    ]
    head = "\n".join(lines).replace("limits: {usd: 30}", f"limits: {{usd: {usd}}}")
    project.put({"bugs/suite.yaml": f"{head}\ncases:\n{''.join(kept)}"})
    return project


def words(*more: str) -> tuple[str, ...]:
    return ("compare", "bugs/suite.yaml", "--yes", "--sandbox", "limits", "--seed", "5", *more)


def trials_of(project: Project) -> list[Path]:
    return sorted((project.root / ".podium/experiments/small_bugs/trials").iterdir())


def runs_in(trial: Path) -> int:
    (database,) = trial.glob("*/.podium/podium.db")
    with_runs = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    return int(with_runs.execute("select count(*) from run").get)


def test_arms_of_known_skill_are_ranked_right(tmp_path: Path) -> None:
    with closing(place_of(tmp_path, cases=8, arms=("poor", "good"))) as project:
        done = project.podium(*words("--json"), timeout_s=PATIENCE_S)
        again = project.podium(*words("--report"))

    assert done.code == 0, done.err
    data = done.data()
    conforms(data, "compare")
    arms = {arm["name"]: arm for arm in data["arms"]}
    assert (arms["good"]["passed"], arms["poor"]["passed"]) == (8, 0)
    assert arms["poor"]["false_accepted"] == 8
    (claim,) = data["comparisons"]
    assert (claim["arm"], claim["claim"]) == ("good", "better")
    assert "8 cases x 2 arms x 1 trial = 16 runs, seed 5" in done.err
    assert "- good is better than poor: +100 points" in again.out
    assert "| poor | 0 of 8 (0-32 %) | 0 of 8 cases | $0.40 | none for $0.40 |" in again.out


def test_a_killed_experiment_loses_and_doubles_no_trial(tmp_path: Path) -> None:
    with closing(place_of(tmp_path, cases=3, arms=("poor", "good"))) as project:
        for number in (1, 3):
            process = subprocess.Popen(
                (sys.executable, "-m", "podium", *words()),
                cwd=project.root,
                env=project.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            _wait_for_trial(project, number)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = project.podium(*words("--json"), timeout_s=PATIENCE_S)
        trials = trials_of(project)

        assert done.code == 0, done.err
        assert len(trials) == 6
        assert [runs_in(trial) for trial in trials] == [1] * 6
        results: list[dict[str, Any]] = [json.loads((each / "result.json").read_text()) for each in trials]
    assert [each["position"] for each in results] == [1, 2, 3, 4, 5, 6]
    assert {each["passed"] for each in results if each["arm"] == "good"} == {True}
    assert done.data()["comparisons"][0]["claim"] == "too few cases"


def _wait_for_trial(project: Project, number: int) -> None:
    """Until the run of the n-th trial was created."""
    deadline = time.monotonic() + PATIENCE_S
    pattern = f".podium/experiments/small_bugs/trials/{number:04d}-*/*/.podium/runs/*"
    while not list(project.root.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_budget_is_never_exceeded_and_a_grader_is_never_seen(tmp_path: Path) -> None:
    """Each run may cost $0.50 and costs $0.05, so a third one is not started at $0.58."""
    with closing(place_of(tmp_path, cases=2, arms=("poor", "good"), usd=0.58)) as project:
        done = project.podium(*words("--json"), timeout_s=PATIENCE_S)
        refused = project.podium("compare", "bugs/suite.yaml", "--sandbox", "limits")
        (project.root / "bugs/hidden/average/more.py").write_text("x = 1\n")
        changed = project.podium(*words())
        held_out = list(project.root.glob(".podium/experiments/*/trials/*/average/**/hidden_check.py"))

    assert done.code == 0, done.err
    assert sum(arm["usd"] for arm in done.data()["arms"]) <= 0.58
    assert sum(arm["trials"] for arm in done.data()["arms"]) == 2
    assert done.data()["stopped"] == "$0.10 of $0.58 are spent, and the next run may cost $0.50"
    assert refused.code == 2
    assert "an experiment costs money; nothing was started" in refused.err
    assert changed.code == 2
    assert "the suite has changed since the experiment" in changed.err
    assert held_out == []

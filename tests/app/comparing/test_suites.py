"""The suites that ship, how trials are ordered, and what a report says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podium.app.comparing.results import outcome_of, report_lines
from podium.app.comparing.suite import Case, Suite, read_suite
from podium.app.comparing.trials import TrialResult, ordered_trials
from podium.errors import ConfigurationError

SUITES = Path(__file__).parents[3] / "examples" / "compare"
NAMES = ("small_bugs", "text_tools")


def check(folder: Path, file: str) -> bool:
    return (
        subprocess.run([sys.executable, file], cwd=folder, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_case_has_a_bug_that_only_the_held_out_tests_find(name: str, tmp_path: Path) -> None:
    suite = read_suite(SUITES / name / "suite.yaml")
    assert len(suite.cases) >= 8
    for case in suite.cases:
        place = tmp_path / case.name
        shutil.copytree(case.folder, place)
        (grader,) = case.graders
        assert grader.bring is not None
        shutil.copytree(grader.bring, place, dirs_exist_ok=True)
        assert check(place, "check.py"), case.name
        assert not check(place, "hidden_check.py"), case.name
        shutil.copy(SUITES / name / "agents/fixes" / f"{case.name}.py", place / "code.py")
        assert check(place, "check.py"), case.name
        assert check(place, "hidden_check.py"), case.name


def test_trials_are_whole_blocks_in_an_order_that_the_seed_decides() -> None:
    suite = read_suite(SUITES / "small_bugs" / "suite.yaml")._replace(trials=2)
    trials = ordered_trials(suite, 3)

    assert trials == ordered_trials(suite, 3) != ordered_trials(suite, 4)
    assert len(trials) == 8 * 3 * 2
    for first in range(0, len(trials), 3):
        block = trials[first : first + 3]
        assert len({(trial.case, trial.number) for trial in block}) == 1
        assert {trial.arm for trial in block} == {"poor", "good", "half"}
    assert len({trials[first].arm for first in range(0, len(trials), 3)}) > 1


def result(case: str, arm: str, number: int, *, passed: bool, steady: bool = True) -> TrialResult:
    return TrialResult(1, case, arm, number, "r", "passed", passed, steady, 0.1, 0, 1.0, 0, 0)


def suite_of(cases: int) -> Suite:
    read = read_suite(SUITES / "small_bugs" / "suite.yaml")
    made = tuple(Case(f"c{number}", Path(), {}, ()) for number in range(cases))
    return read._replace(cases=made, arms=read.arms[:2])


def test_equal_arms_get_no_claim_and_harm_is_told_first() -> None:
    suite = suite_of(10)
    results = [
        result(f"c{number}", arm, 1, passed=number % 2 == (arm == "good"))
        for number in range(10)
        for arm in ("poor", "good")
    ]
    outcome = outcome_of(suite, results, 1)
    lines = report_lines(suite, outcome, planned=20, seed=1, stopped="")

    assert [each.claim for each in outcome.comparisons] == ["cannot tell"]
    assert "Cases that poor passes more often than good: c0, c2, c4, c6, c8." in lines[3]
    assert not [line for line in lines if "better" in line]


def test_unsteady_cases_and_blocks_without_all_arms_leave_the_claims() -> None:
    suite = suite_of(10)
    results = [
        result(f"c{number}", arm, 1, passed=arm == "good", steady=number != 0)
        for number in range(9)
        for arm in ("poor", "good")
    ]
    results.append(result("c9", "good", 1, passed=True))
    outcome = outcome_of(suite, results, 1)

    assert outcome.unsteady == ("c0",)
    assert outcome.comparisons[0].difference.cases == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("podium: 1\narms: {}\n", "arms must be a map"),
        ("podium: 1\narm: {}\n", 'unknown key "arm"'),
        ("podium: 1\narms: {a: {workflow: no.yaml}}\ncases: {c: {folder: .}}\n", "no.yaml does not exist"),
    ],
)
def test_a_wrong_suite_is_refused_by_the_key(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(text)

    with pytest.raises(ConfigurationError, match=message):
        read_suite(tmp_path / "suite.yaml")

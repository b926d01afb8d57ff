"""Finds the tests of workflows, plays them one after the other, and reports each result."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from podium.app.workflow_tests.expect import Failure, failures
from podium.app.workflow_tests.play import OpenStage, Played, play
from podium.app.workflow_tests.stage import TestProject, staged
from podium.errors import EXIT_FAILED, EXIT_PASSED, ConfigurationError
from podium.fast_dataclass import dataclass
from podium.workflow.scripted.test_file import SUFFIX, Trial, line_of_test, read_tests
from podium.workflow.source import yaml

PASSED_OVER: Final = frozenset({"node_modules", "venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Case:
    """One test, ready to be played."""

    file: Path
    line: int
    test: Trial
    staged: TestProject

    @property
    def name(self) -> str:
        return self.staged.name


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests to be played, and the files that cannot be read."""

    cases: tuple[Case, ...]
    mistakes: tuple[ConfigurationError, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    case: Case
    failures: tuple[Failure, ...]
    duration_s: float
    played: Played


def find_tests(places: Iterable[Path], *, containing: str = "") -> Suite:
    """Raises ConfigurationError, with the mistakes of all files, if there is nothing to be played."""
    files = tuple(dict.fromkeys(file for place in places for file in _files(place)))
    cases: list[Case] = []
    wrong: list[ConfigurationError] = []
    for file in files:
        try:
            cases += _cases(file)
        except ConfigurationError as error:
            wrong.append(error)
    chosen = tuple(case for case in cases if containing in case.name)
    if wrong and not chosen:
        whole = ConfigurationError("\n".join(each.message for each in wrong), code=wrong[0].code)
        whole.problems = tuple(problem for each in wrong for problem in each.problems)
        raise whole
    if not chosen:
        raise ConfigurationError(
            f"no matching tests in {len(files)} files" if files else f"no files *{SUFFIX} found",
            hint=f"write WORKFLOW{SUFFIX} next to a workflow; docs/how-to/test-a-workflow.md shows one",
        )
    return Suite(chosen, tuple(wrong))


def results(cases: Iterable[Case], open_stage: OpenStage, *, keep: bool = False) -> Iterator[Result]:
    for case in cases:
        began = time.monotonic()
        played = play(case.staged, open_stage, keep=keep)
        failed = (*failures(case.test.expect, played), *_unplayed(case, played))
        yield Result(case, failed, time.monotonic() - began, played)


def exit_code(suite: Suite, results: Iterable[Result]) -> int:
    if any(result.failures for result in results):
        return EXIT_FAILED
    return suite.mistakes[0].exit_code if suite.mistakes else EXIT_PASSED


def data_of(suite: Suite, results: Iterable[Result]) -> dict[str, Any]:
    rows = [_row(result) for result in results]
    failed = sum(row["status"] == "failed" for row in rows)
    mistakes = [mistake.message for mistake in suite.mistakes]
    return {"tests": rows, "passed": len(rows) - failed, "failed": failed, "mistakes": mistakes}


def _row(result: Result) -> dict[str, Any]:
    played = result.played
    return {
        "file": str(result.case.file),
        "line": result.case.line,
        "test": result.case.name,
        "status": "failed" if result.failures else "passed",
        "duration_s": round(result.duration_s, 3),
        "failures": [asdict(failure) for failure in result.failures],
        "run": {
            "status": played.status,
            "exit": played.exit,
            "usd": None if played.trace is None else played.trace.usd / 1_000_000,
            "folder": None if played.folder is None else str(played.folder),
        },
    }


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    if not place.is_dir():
        raise ConfigurationError(f"{place} does not exist")
    for folder, below, names in os.walk(place):
        below[:] = sorted(name for name in below if name not in PASSED_OVER and not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(SUFFIX))


def _cases(path: Path) -> Iterator[Case]:
    file = read_tests(path)
    for name, test in file.tests.items():
        yield Case(path, line_of_test(path, name), test, staged(path, file, name, test))


def _unplayed(case: Case, played: Played) -> Iterator[Failure]:
    """Rules that were written for this very test; those that it shares with others may be for them."""
    if not isinstance(case.test.cast, tuple) or played.trace is None:
        return
    own = {rule.path for rule in case.test.cast}
    document = yaml.read(case.file)
    for path, reason in played.unplayed.items():
        if path in own:
            line = document.position(path).line
            yield Failure("cast", f"the rule at line {line} was never played: {reason}")

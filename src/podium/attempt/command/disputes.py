"""Disputed tests: earlier tests that do not pass on the judged work.

A disputed test fails the command, unless the author of the work has given a reason and a judge can still accept it; the
row then goes to that judge with the reason and the diff of the test.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from podium.attempt.agent.tests_changed import MARK
from podium.attempt.command.result import CommandResult
from podium.attempt.command.test_reports import RED, Report, Status, shown
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.repository import Repository
from podium.git.trees.diff import diff
from podium.tasks.report import AttemptResult
from podium.workflow.test_gates.files import is_snapshot, steers_tests

MAX_ROWS: Final = 50
"""With more disputed tests than these, each file becomes one row."""
DIFF_BYTES: Final = 8_000
MAX_PATCH: Final = 16 << 20
SHOWN_OUTPUT: Final = 3_000
FAILS: Final = "fails on the new code"
GONE: Final = "is no longer run"
SKIPPED: Final = "is skipped, but ran before"
NO_IMPORT: Final = "can no longer be loaded with the new code"
NOT_LISTED: Final = "no longer lists its tests"
NOT_PASSED: Final = "does not pass with the earlier tests and settings"


@dataclass(frozen=True, slots=True)
class DisputedTest:
    test: str
    """As the runner names it; empty if the runner does not name its tests."""
    problem: str
    files: tuple[str, ...]
    """The changed files that may be the reason."""
    was_rerun: bool = True
    """False for a test inside the code under test, which cannot be run as it was."""


@dataclass(frozen=True, slots=True)
class TestsOfTree:
    """The changed files that decide about tests, and the trees they differ between."""

    repository: Repository
    base: Tree
    now: Tree
    paths: tuple[str, ...]


def compare(base: Report | None, now: Report | None) -> dict[str, str]:
    """The earlier tests that do not pass now, each with its problem; modules that cannot be loaded stand for their tests."""
    if now is None:
        return {}
    earlier: Mapping[str, Status] = {} if base is None else base.cases
    red = [name for name, status in now.cases.items() if status in RED]
    modules = sorted(earlier)
    broken = [name for name in red if name not in earlier and _is_module_of(name, modules)]
    problems = dict.fromkeys(broken, NO_IMPORT)
    problems |= {name: FAILS for name in red if name not in problems}
    if broken:
        # A runner may stop at a module that it cannot load, so that all other tests are missing too.
        return problems
    problems |= dict.fromkeys(_gone(earlier, now.cases), GONE)
    skipped = [name for name, status in now.cases.items() if status == "skipped"]
    return problems | {name: SKIPPED for name in skipped if earlier.get(name, "skipped") != "skipped"}


def _gone(earlier: Mapping[str, Status], now: Mapping[str, Status]) -> Iterator[str]:
    """Parameters may have names that differ in every run, so of those only the number counts."""
    before, after = (Counter(name.partition("[")[0] for name in names) for names in (earlier, now))
    for name in earlier:
        stem = name.partition("[")[0]
        if name not in now and after[stem] < before[stem]:
            yield name


def _is_module_of(name: str, ordered: Sequence[str]) -> bool:
    """Whether one of the tests, which are in order, begins with the name: searched, because both may be many."""
    starts = (f"{name}::", f"{name}.")
    places = ((start, bisect_left(ordered, start)) for start in starts)
    return any(at < len(ordered) and ordered[at].startswith(start) for start, at in places)


def moved(base: Report, now: Report, gone: Iterable[str]) -> frozenset[str]:
    """Tests that are gone under their name while a new one has the same last part: they were moved."""
    new = Counter(_last_part(name) for name in now.cases if name not in base.cases)
    result = set()
    for name in gone:
        if new[_last_part(name)] > 0:
            new[_last_part(name)] -= 1
            result.add(name)
    return frozenset(result)


def _last_part(name: str) -> str:
    return name.rpartition("::")[2].rpartition(".")[2]


def disputed(problems: Mapping[str, str], paths: Sequence[str], *, was_rerun: bool) -> list[DisputedTest]:
    sources = ChangedSources(paths)
    if len(problems) <= MAX_ROWS:
        return [
            DisputedTest(name, problem, sources.files_of(name), was_rerun)
            for name, problem in problems.items()
        ]
    grouped: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for name, problem in problems.items():
        grouped.setdefault((sources.of(name), problem), []).append(name)
    return [
        DisputedTest("", f"{len(names)} tests: each {problem}", sources.files_of(names[0]), was_rerun)
        for (_, problem), names in grouped.items()
    ]


def files_of(test: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The changed files that a test may come from, with the changed settings; all of them if its file is not known."""
    return ChangedSources(paths).files_of(test)


class ChangedSources:
    """The changed files by the names that tests have which come from them: a report may have a hundred thousand tests."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._by_start: dict[str, list[str]] = {}
        for path in self._paths:
            for start in _starts(path):
                self._by_start.setdefault(start, []).append(path)
        self._lengths = sorted({len(start) for start in self._by_start})
        self._settings: list[str] | None = None
        self._snapshots = [path for path in paths if is_snapshot(path)]

    def of(self, test: str) -> tuple[str, ...]:
        """The files whose tests have such names; a name that is a whole module counts as one of its tests."""
        name = f"{test}."
        starts = (name[:length] for length in self._lengths if length <= len(name))
        return tuple(dict.fromkeys(path for start in starts for path in self._by_start.get(start, ())))

    def files_of(self, test: str) -> tuple[str, ...]:
        own = self.of(test)
        if not own:
            return self._paths
        if self._settings is None:
            self._settings = [
                path for path in self._paths if steers_tests(path) or path.endswith("conftest.py")
            ]
        snapshots = [path for path in self._snapshots if any(_is_snapshot_of(path, source) for source in own)]
        return tuple(dict.fromkeys((*own, *snapshots, *self._settings)))


def _is_snapshot_of(path: str, source: str) -> bool:
    """Whether the name of a snapshot, or of its folder, begins with that of the file of tests."""
    stem = PurePosixPath(source).name.partition(".")[0]
    return any(
        part == stem or part.startswith((f"{stem}.", f"{stem}_")) for part in PurePosixPath(path).parts
    )


def _starts(path: str) -> tuple[str, str, str]:
    module = path.rpartition(".")[0].replace("/", ".")
    return f"{module}::", f"{module}.", path


def is_from(test: str, path: str) -> bool:
    return f"{test}.".startswith(_starts(path))


def rows_of(
    tests: Sequence[DisputedTest], claims: Sequence[Mapping[str, Any]], trees: TestsOfTree
) -> list[dict[str, Any]]:
    """The rows for a judge; `why` is empty where the author gave no reason."""
    patches: dict[tuple[str, ...], str] = {}
    rows = []
    for test in tests:
        if test.files not in patches:
            patches[test.files] = _changed_lines(trees, test.files)
        identity = "\0".join((test.test, patches[test.files], *(() if test.test else test.files)))
        rows.append(
            {
                "id": f"T{hashlib.sha256(identity.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}",
                "test": test.test,
                "files": list(test.files),
                "base": str(trees.base),
                "problem": _problem(test),
                "why": _why(test, claims),
            }
        )
    return rows


def _problem(test: DisputedTest) -> str:
    snapshots = [path for path in test.files if is_snapshot(path)]
    changed = f"; the work changed its snapshot {shown(snapshots)}" if snapshots else ""
    return f"{test.problem}{'' if test.was_rerun else ' (not rerun)'}{changed}"


def _changed_lines(trees: TestsOfTree, paths: tuple[str, ...]) -> str:
    """The changed lines without their numbers, so that a row is the same after the branch has moved."""
    text = diff(trees.repository, trees.base, trees.now, paths=paths, context=0, limit=MAX_PATCH).text
    lines = (line for line in text.splitlines() if not line.startswith(("@@", "index ")))
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _why(test: DisputedTest, claims: Sequence[Mapping[str, Any]]) -> str:
    if not test.test:
        whys = [_why_of_file(path, claims) for path in test.files]
        return "; ".join(dict.fromkeys(whys)) if all(whys) else ""
    return next((str(claim["why"]) for claim in claims if _is_about(claim, test)), "")


def _why_of_file(path: str, claims: Sequence[Mapping[str, Any]]) -> str:
    return next((str(claim["why"]) for claim in claims if path in _named(claim)), "")


def _named(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """The test or files of a claim; rows of an earlier judgement count too."""
    names = (claim.get("test"), claim.get("file"), *claim.get("files", ()))
    return tuple(str(name).removeprefix("./") for name in names if name)


def _is_about(claim: Mapping[str, Any], test: DisputedTest) -> bool:
    if "id" in claim:
        return bool(claim["test"] == test.test)
    for name in _named(claim):
        place, _, last = name.rpartition("::")
        if name == test.test or any(name == path and is_from(test.test, path) for path in test.files):
            return True
        if name in test.files and not any(is_from(test.test, path) for path in test.files):
            return True
        is_named = test.test.endswith((f"::{last}", f".{last}")) or test.test == last
        if is_named and (not place or any(place == path or place in path for path in test.files)):
            return True
    return False


def diff_of(rows: Iterable[Mapping[str, Any]], trees: TestsOfTree) -> str:
    paths = tuple(dict.fromkeys(path for row in rows for path in row["files"]))
    change = diff(trees.repository, trees.base, trees.now, paths=paths, limit=DIFF_BYTES)
    return change.text + (f"[cut after {DIFF_BYTES} bytes]\n" if change.cut else "")


def pending_result(rows: Sequence[Mapping[str, Any]], trees: TestsOfTree) -> AttemptResult:
    """What a command that passes for now leaves to a judge."""
    return {"disputed": rows, "disputed_diff": diff_of(rows, trees)} if rows else {}


def feedback(
    rows: Sequence[Mapping[str, Any]],
    repeated: CommandResult | None,
    *,
    paths: Sequence[str],
    has_judge: bool,
    runs_tests: bool = True,
) -> str:
    """The message for the next attempt."""
    how = "" if repeated is None or repeated.kind == "ok" else f": {repeated.first_line}"
    output = "" if repeated is None else repeated.result.get("message", "").partition("\n")[2][-SHOWN_OUTPUT:]
    named = [f"- {row['test'] or shown(list(row['files']))} {row['problem']}" for row in rows]
    lines = [
        f"with the tests and settings from before this work the command does not pass{how}",
        *filter(None, (output.strip(),)),
        "disputed tests:" if runs_tests else "disputed settings:",
        *named[:MAX_ROWS],
        f"the work changed: {shown(list(paths))}" if paths else "the work changed tests inside the code",
        KEEP_TESTS if runs_tests else KEEP_SETTINGS,
    ]
    return "\n".join((*lines, JUDGED if has_judge else UNJUDGED))


KEEP_TESTS: Final = (
    "make the earlier tests pass on the new code; add tests, but do not change or remove what a test requires"
)
KEEP_SETTINGS: Final = "make the code pass with the earlier settings"
JUDGED: Final = (
    f"if the requirement itself has changed, keep the change and end your answer with one line for each disputed test: "
    f'"{MARK} <test or file>: <why>", or give them as "tests_changed" where your answer is an object; a judge then '
    "decides"
)
UNJUDGED: Final = (
    "no review and no person judges this work before it lands, so a changed requirement cannot be accepted here; "
    "only the author of the workflow can allow it, with tests: {may_change: [...]}"
)

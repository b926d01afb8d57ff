"""Evidence for a command besides its exit code: test reports, coverage, a red base run, kept output."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from podium.attempt.artifacts import write_bytes
from podium.attempt.command.judge_tree import with_paths
from podium.attempt.command.report_xml import MAX_BYTES, UnreadableReport
from podium.attempt.command.test_reports import (
    Report,
    from_json,
    read_coverage,
    read_tests,
    shown,
    suite_fault,
    to_json,
)
from podium.attempt.host import Host
from podium.attempt.launch import declared_env
from podium.attempt.workspace.workspace import Workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Command, Step
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.files.inside import inside, open_inside
from podium.git.repository import trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import files, read_listing
from podium.process.output import CapturedOutput
from podium.tasks.command_work import command_key, report_paths
from podium.tasks.report import AttemptResult, Evidence
from podium.workflow.test_gates.files import is_test_file

UNCOMPARED: Final = "uncompared"
"""The result field that says why the tests could not be compared with those of the base tree."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The tree that the work started from, and the tree that is judged."""

    before: Tree | None
    now: Tree | None


@dataclass(frozen=True, slots=True)
class ReportCheck:
    message: str | None = None
    """Why the command does not count as passed."""
    result: AttemptResult = field(default_factory=AttemptResult)
    tests: Report | None = None


@dataclass(frozen=True, slots=True)
class BaselineTests:
    """The tests reported on the base tree; empty if there is no base tree."""

    tests: Report | None = None
    unknown: str = ""
    """Why the command did not report all of them."""


@dataclass(frozen=True, slots=True)
class NoBaseline:
    """There is no base tree with changed tests that could fail on it."""

    why: str


def delete_old_reports(verb: Command, names: Names, folder: Path, *others: str) -> None:
    """Delete reports that are part of the tree, so that only a report written by this command counts."""
    for path in (*report_paths(verb, names), *others):
        report = inside(folder, path)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            report.unlink()


def check_reports(verb: Command, names: Names, folder: Path, base: BaselineTests) -> ReportCheck:
    """Check the reports that a command wrote, compared with those of the base tree."""
    check = ReportCheck() if verb.junit is None else _junit(verb, names, folder, base.tests)
    if check.message is not None or verb.coverage is None:
        return check
    coverage = _coverage(verb, names, folder)
    return ReportCheck(coverage.message, {**check.result, **coverage.result}, check.tests)


def check_without_baseline(
    check: ReportCheck, base: BaselineTests, host: Host, trees_compared: Trees
) -> ReportCheck:
    """Without the tests of the base tree, check only that no test file was deleted."""
    why = f"on the base tree, {base.unknown}"
    gone = _gone(host, trees_compared)
    if not gone:
        return replace(check, result={**check.result, UNCOMPARED: why})
    message = (
        f"{len(gone)} test files of the base tree are gone: {shown(gone)}; "
        f"whether tests were lost with them is unknown: {why}"
    )
    return replace(check, message=message)


def _gone(host: Host, trees_compared: Trees) -> list[str]:
    if host.repository is None or trees_compared.before is None or trees_compared.now is None:
        return []
    changed = changed_paths(host.repository, trees_compared.before, trees_compared.now)
    present = {path for path, _ in files(read_listing(trees(host.repository), trees_compared.now))}
    return [path for path in changed if is_test_file(path) and path not in present]


def old_code_new_tests(host: Host, trees_compared: Trees) -> Tree | NoBaseline:
    """The base tree of this visit with the tests that the visit added or changed; or why there is none."""
    repository = host.repository
    if repository is None or trees_compared.before is None or trees_compared.now is None:
        return NoBaseline("must_fail_before needs a git repository: without one there is no earlier code")
    changed = [
        path
        for path in changed_paths(repository, trees_compared.before, trees_compared.now)
        if is_test_file(path)
    ]
    if not changed:
        return NoBaseline("no test was added or changed, so none can fail on the earlier code")
    return with_paths(repository, trees_compared.before, trees_compared.now, changed)


def read_report(verb: Command, names: Names, folder: Path) -> Report | None:
    """The test report of a command, whether or not the tests passed; None if it cannot be read."""
    try:
        return read_tests(read_bytes(folder, as_text(fill(verb.junit, names), Meter())) or b"")
    except UnreadableReport:
        return None


def _junit(verb: Command, names: Names, folder: Path, base: Report | None) -> ReportCheck:
    path = as_text(fill(verb.junit, names), Meter())
    content = read_bytes(folder, path)
    if content is None:
        return ReportCheck(f'the command passed, but wrote no report to "{path}"')
    try:
        tests = read_tests(content)
    except UnreadableReport as error:
        return ReportCheck(f'the report "{path}" cannot be used: {error}')
    counts = tests.counts()
    why = suite_fault(tests, base)
    failed = counts["failed"] + counts["errors"]
    if why is None and failed:
        why = f"the command passed, but its report says that {failed} of {counts['total']} tests failed"
    least = 0 if verb.tests is None else verb.tests.min_new
    new = len(tests.cases.keys() - (base.cases.keys() if base is not None else set()))
    if why is None and new < least:
        why = f"the work adds {new} tests; at least {least} are required"
    return ReportCheck(why, {"tests": counts}, tests)


def _coverage(verb: Command, names: Names, folder: Path) -> ReportCheck:
    settings = dict(verb.coverage or {})
    path = as_text(fill(settings["report"], names), Meter())
    minimum = settings.get("min")
    content = read_bytes(folder, path)
    if content is None:
        return ReportCheck(f'the command passed, but wrote no coverage to "{path}"')
    try:
        covered = read_coverage(content)
    except UnreadableReport as error:
        return ReportCheck(f'the coverage report "{path}" cannot be used: {error}')
    result: AttemptResult = {"coverage": covered}
    if minimum is not None and covered < minimum:
        return ReportCheck(f"{covered} % of the lines are covered; at least {minimum} % are required", result)
    return ReportCheck(None, result)


def read_bytes(folder: Path, path: str) -> bytes | None:
    try:
        with open_inside(folder, path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError:
        return None


def save_report(file: Path, tests: Report) -> None:
    """Store the tests of a tree, as the baseline for work that starts from it in this run or a later one."""
    write_bytes(file, to_json(tests).encode("utf-8", "surrogateescape"))


def load_report(file: Path) -> Report | None:
    try:
        return from_json(file.read_text("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None


def report_file(host: Host, step: Step, names: Names, tree: Tree) -> Path:
    """One file per command, because another command may run only some of the tests."""
    passed, _ = declared_env(step, names)
    key = (*command_key(step, names), {name: host.host_env.get(name) for name in passed})
    encoded = repr(key).encode("utf-8", "surrogateescape")
    return host.state_dir / "reports" / hashlib.sha256(encoded).hexdigest()[:16] / f"{tree}.json"


EVIDENCE: Final = "evidence"
"""Name of the result field and of the folder in the run folder."""


@dataclass(frozen=True, slots=True)
class KeptOutput:
    argv: tuple[str, ...]
    stdout: CapturedOutput
    stderr: CapturedOutput


def keep(
    host: Host, started: AttemptStarted, verb: Command, names: Names, workspace: Workspace, shown: KeptOutput
) -> Evidence:
    """Store output and reports; file names are relative to the run folder. A long output already has a file there."""
    folder = host.run_dir / EVIDENCE / started.path.replace("/", "+") / str(started.attempt)
    streams = {"stdout.txt": shown.stdout, "stderr.txt": shown.stderr}
    reports = {path: read_bytes(workspace.folder, path) for path in report_paths(verb, names)}
    return {
        "command": [host.mask.text(word) for word in shown.argv],
        "tree": started.start,
        "laid_out": None if workspace.snapshot is None else workspace.snapshot.tree,
        "output": [
            _named(host, stream.path) if stream.path else _written(host, folder / name, stream.read())
            for name, stream in streams.items()
            if stream.size
        ],
        "reports": [
            _written(host, folder / "reports" / path.replace("/", "+"), host.mask.apply(content))
            for path, content in reports.items()
            if content is not None
        ],
    }


def _written(host: Host, file: Path, content: bytes) -> str:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_bytes(content)
    return _named(host, file)


def _named(host: Host, file: Path) -> str:
    return file.relative_to(host.run_dir).as_posix()

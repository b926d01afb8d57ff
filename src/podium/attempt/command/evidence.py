"""Evidence for a command besides its exit code: test reports, coverage, a red base run, kept output."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from podium.attempt.artifacts import write_bytes
from podium.attempt.command.judge_tree import with_paths
from podium.attempt.command.test_reports import (
    MAX_BYTES,
    Report,
    UnreadableReport,
    complaint,
    from_json,
    read_coverage,
    read_tests,
    shown,
    to_json,
)
from podium.attempt.host import Host
from podium.attempt.launch import declared_env
from podium.attempt.workspace.workspace import Workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.globs import glob_matches
from podium.core.model import Command, Step
from podium.core.types import Tree
from podium.files.inside import inside, open_inside
from podium.git.repository import trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import files, read_listing
from podium.process.output import CapturedOutput
from podium.tasks.commands import command_key, report_paths
from podium.tasks.report import AttemptResult, Evidence

TEST_FILES: Final = (
    "test/**", "tests/**", "**/test/**", "**/tests/**", "**/__tests__/**", "spec/**", "**/spec/**",
    "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*Test.*", "**/*Tests.*", "**/conftest.py",
)  # fmt: skip
"""Where tests live in most projects; what else a visit changed is the code they are about."""


UNCOMPARED: Final = "uncompared"
"""The field of a result that says why its tests could not be compared with those from before."""


@dataclass(frozen=True, slots=True)
class Trees:
    """What is judged, and what the work started from; the same where nothing has changed."""

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
    """What is known of the tests on the tree from before; nothing where there is no such tree."""

    tests: Report | None = None
    unknown: str = ""
    """Why the command did not tell of all of them."""


@dataclass(frozen=True, slots=True)
class NoBaseline:
    """There is nothing that could have failed before."""

    why: str


def forget_reports(verb: Command, names: Names, folder: Path) -> None:
    """Removes reports that stand in the tree: only one that this command writes proves anything about it."""
    for path in report_paths(verb, names):
        place = inside(folder, path)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            place.unlink()


def look(verb: Command, names: Names, folder: Path, base: BaselineTests) -> ReportCheck:
    """What the reports that a command wrote say, beside what they said of the tree from before."""
    seen = ReportCheck() if verb.junit is None else _junit(verb, names, folder, base.tests)
    if seen.message is not None or verb.coverage is None:
        return seen
    covered = _coverage(verb, names, folder)
    return ReportCheck(covered.message, {**seen.result, **covered.result}, seen.tests)


def uncompared(seen: ReportCheck, base: BaselineTests, host: Host, compared: Trees) -> ReportCheck:
    """What counts where the tree from before tells of no tests: that no file of tests is gone since."""
    why = f"on the tree from before, {base.unknown}"
    gone = _gone(host, compared)
    if not gone:
        return replace(seen, result={**seen.result, UNCOMPARED: why})
    message = (
        f"{len(gone)} files of tests are gone that were there before: {shown(gone)}; "
        f"whether a test is lost with them cannot be told: {why}"
    )
    return replace(seen, message=message)


def _gone(host: Host, compared: Trees) -> list[str]:
    if host.repository is None or compared.before is None or compared.now is None:
        return []
    changed = changed_paths(host.repository, compared.before, compared.now)
    there = {path for path, _ in files(read_listing(trees(host.repository), compared.now))}
    return [path for path in changed if is_test(path) and path not in there]


def old_code_new_tests(host: Host, compared: Trees) -> Tree | NoBaseline:
    """The tree this visit started from with the tests it has added or changed; or why there is none."""
    repository = host.repository
    if repository is None or compared.before is None or compared.now is None:
        return NoBaseline("must_fail_before needs a git repository: without one there is no code from before")
    changed = [path for path in changed_paths(repository, compared.before, compared.now) if is_test(path)]
    if not changed:
        return NoBaseline("no test was added or changed, so none can fail on the code from before")
    return with_paths(repository, compared.before, compared.now, changed)


def is_test(path: str) -> bool:
    return any(glob_matches(pattern, path) for pattern in TEST_FILES)


def read_report(verb: Command, names: Names, folder: Path) -> Report | None:
    """What a command said of its tests, whether or not they passed; None: nothing that can be read."""
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
    why = complaint(tests, base)
    failed = counts["failed"] + counts["errors"]
    if why is None and failed:
        why = f"the command passed, but its report says that {failed} of {counts['total']} tests failed"
    return ReportCheck(why, {"tests": counts}, tests)


def _coverage(verb: Command, names: Names, folder: Path) -> ReportCheck:
    wanted = dict(verb.coverage or {})
    path = as_text(fill(wanted["report"], names), Meter())
    least = wanted.get("min")
    content = read_bytes(folder, path)
    if content is None:
        return ReportCheck(f'the command passed, but wrote no coverage to "{path}"')
    try:
        covered = read_coverage(content)
    except UnreadableReport as error:
        return ReportCheck(f'the coverage report "{path}" cannot be used: {error}')
    result: AttemptResult = {"coverage": covered}
    if least is not None and covered < least:
        return ReportCheck(f"{covered} % of the lines are covered; at least {least} % are asked for", result)
    return ReportCheck(None, result)


def read_bytes(folder: Path, path: str) -> bytes | None:
    try:
        with open_inside(folder, path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError:
        return None


def remember(place: Path, tests: Report) -> None:
    """What was seen on a tree is the base for whoever starts from it, in this run and in later ones."""
    write_bytes(place, to_json(tests).encode("utf-8", "surrogateescape"))


def known(place: Path) -> Report | None:
    try:
        return from_json(place.read_text("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None


def place_of(host: Host, step: Step, names: Names, tree: Tree) -> Path:
    """Reports of different commands are not compared: one may run only some of the tests."""
    passed, _ = declared_env(step, names)
    said = (*command_key(step, names), {name: host.host_env.get(name) for name in passed})
    told = repr(said).encode("utf-8", "surrogateescape")
    return host.state_dir / "reports" / hashlib.sha256(told).hexdigest()[:16] / f"{tree}.json"


EVIDENCE: Final = "evidence"
"""The field of a result, and the folder of a run."""


@dataclass(frozen=True, slots=True)
class KeptOutput:
    argv: tuple[str, ...]
    stdout: CapturedOutput
    stderr: CapturedOutput


def keep(
    host: Host, asked: AttemptStarted, verb: Command, names: Names, workspace: Workspace, shown: KeptOutput
) -> Evidence:
    """Names of files are relative to the run's folder; a long output has its file there already."""
    folder = host.run_dir / EVIDENCE / asked.path.replace("/", "+") / str(asked.attempt)
    streams = {"stdout.txt": shown.stdout, "stderr.txt": shown.stderr}
    reports = {path: read_bytes(workspace.folder, path) for path in report_paths(verb, names)}
    return {
        "command": [host.mask.text(word) for word in shown.argv],
        "tree": asked.start,
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


def _written(host: Host, place: Path, content: bytes) -> str:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.write_bytes(content)
    return _named(host, place)


def _named(host: Host, place: Path) -> str:
    return place.relative_to(host.run_dir).as_posix()

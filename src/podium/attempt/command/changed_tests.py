"""Finds the files that the judged work changed and that decide what a command proves: tests, settings, programs, shadows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from podium.attempt.command.disputes import ChangedSources
from podium.attempt.command.suite_command import SuiteCommand
from podium.attempt.command.test_reports import Report
from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.git.repository import Repository, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import FOLDER, Entry, files, read_listing
from podium.git.trees.snapshot import read_small_blobs
from podium.workflow.test_gates.files import (
    INLINE_RUNNERS,
    MODULE_FOLDERS,
    SCRIPTS,
    has_inline_tests,
    has_other_code,
    imports_any,
    is_shadow,
    is_stub,
    is_test_file,
    matches_any,
    may_have_inline_tests,
)
from podium.workflow.test_gates.helpers import is_helpers_name, may_help_tests
from podium.workflow.test_gates.manifests import is_steered
from podium.workflow.test_gates.named_files import files_named_by_settings, folders_named_by_settings
from podium.workflow.test_gates.programs import files_of_setup, programs_behind
from podium.workflow.test_gates.steering import LOCKS_OF, MANIFESTS

MAX_SOURCE: Final = 4 << 20
"""Bytes of the longest file that is read; a longer one counts as one with tests inside."""
MAX_SEARCHED: Final = 500
"""Files that are searched for imports of a test."""
MAX_IMPORTER: Final = 128 << 10
"""Bytes of a file that is searched for imports of a helper; a longer one counts as one without."""


class ChangedTests(NamedTuple):
    """Changed, removed and new files that are tests or decide which tests run."""

    judged: tuple[str, ...]
    waived: tuple[str, ...]
    """Those that may change."""
    has_earlier: bool
    """Whether one of the judged files was there before, or is more than a new test."""
    has_removed: bool
    """Whether any file is gone: it may have had tests under a name that is not known."""
    mixed: tuple[str, ...]
    """Files whose tests the command reported and that have other code, so that they cannot be restored."""


class Judged(NamedTuple):
    """What the command was run on, and what it reported there."""

    repository: Repository
    before: Tree
    now: Tree
    reported: Report | None = None
    """The tests on the new tree: a file that they come from is a test, whatever its name."""
    setup: tuple[tuple[str, ...], ...] = ()
    """The commands that set the workspace up, which decide as well what the command proves."""


def changed_test_files(
    judged: Judged,
    suite: SuiteCommand,
    may_change: Sequence[str],
    folders: Sequence[str] = MODULE_FOLDERS,
    is_installed: Callable[[str], bool] = lambda _: False,
) -> ChangedTests:
    """New tests that the command itself names are left out: without them it would have nothing to run."""
    repository, before, now = judged.repository, judged.before, judged.now
    listing = read_listing(trees(repository), before)
    earlier = {path for path, _ in files(listing)}
    changed = changed_paths(repository, before, now)
    named = _named_before(judged, suite, listing, earlier, changed)
    steering = _Steering(
        repository,
        (before, now),
        suite,
        (*MODULE_FOLDERS, *folders, *named.folders),
        listing,
        earlier,
        named.programs,
        is_installed,
    )
    reported = _sources_of_tests(judged, suite, changed, folders, earlier)
    sources = frozenset(path for path, is_mixed in reported.items() if not is_mixed)
    mixed = tuple(path for path, is_mixed in reported.items() if is_mixed)

    def is_test(path: str) -> bool:
        return suite.runs_tests and (path in sources or is_test_file(path, suite.files))

    paths = [
        path
        for path in changed
        if (is_test(path) or steering.has(path))
        and (path in earlier or not (is_test(path) and suite.names_file(path, listing)))
    ]
    waived = tuple(path for path in paths if any(glob_matches(pattern, path) for pattern in may_change))
    counted = tuple(path for path in (*paths, *_locks(paths)) if path not in waived)
    has_earlier = any(path in earlier or steering.has(path) for path in counted)
    present = {path for path, _ in files(read_listing(trees(repository), now))}
    has_removed = any(path not in present for path in changed)
    return ChangedTests(counted, waived, has_earlier, has_removed, mixed)


class _Named(NamedTuple):
    """What the settings from before the work name, and what the command starts behind other tools."""

    programs: frozenset[str]
    folders: frozenset[str]


def _named_before(
    judged: Judged,
    suite: SuiteCommand,
    listing: Mapping[str, object],
    earlier: Collection[str],
    changed: Sequence[str],
) -> _Named:
    def read(path: str) -> bytes:
        return next(_contents(judged.repository, path, (judged.before,)), b"")

    settings = [path for path in earlier if matches_any(suite.steering, path)]
    new = [path for path in changed if path not in earlier]
    programs = programs_behind(suite.words, suite.script, earlier, read, new)
    programs |= files_of_setup(judged.setup, earlier, read)
    return _Named(
        programs | files_named_by_settings(settings, earlier, read),
        folders_named_by_settings(settings, listing, read),
    )


def _sources_of_tests(
    judged: Judged,
    suite: SuiteCommand,
    changed: Sequence[str],
    folders: Sequence[str],
    earlier: Collection[str],
) -> dict[str, bool]:
    """Changed files of an unknown name that are tests: the command names them, or reported tests come from them.

    True for one that also has code under test, so that it cannot be restored.
    """
    if suite.files or not suite.runs_tests:
        return {}
    unknown = [path for path in changed if not is_test_file(path)]
    named = [path for path in unknown if path in earlier and suite.names_test(path)]
    paths = dict.fromkeys((*named, *_reported(judged.reported, unknown, (*folders, *suite.named_folders))))
    both = (judged.before, judged.now)
    mixed = [
        path
        for path in paths
        if any(has_other_code(path, content) for content in _contents(judged.repository, path, both))
    ]
    only_tests = _only_tests(judged, mixed, earlier)
    helpers = _helpers(judged, [path for path in unknown if path in earlier and path not in paths], earlier)
    return {
        **dict.fromkeys(helpers, False),
        **{path: path in mixed and path not in only_tests for path in paths},
    }


def _helpers(judged: Judged, changed: Sequence[str], earlier: Collection[str]) -> tuple[str, ...]:
    """Those of the changed files that were there for tests: so their names or imports say, and only tests import them."""
    likely = [
        path
        for path in changed
        if any(
            may_help_tests(path, content) for content in _contents(judged.repository, path, (judged.before,))
        )
    ]
    scripts = [path for path in earlier if path.endswith(SCRIPTS)] if likely else []
    if len(scripts) > MAX_SEARCHED:
        return ()
    entries = [
        (path, entry) for path in scripts for entry in _entries(judged.repository, path, (judged.before,))
    ]
    names = [entry.name for _, entry in entries]
    contents = read_small_blobs(trees(judged.repository), names, MAX_IMPORTER)
    texts = {path: content or b"" for (path, _), content in zip(entries, contents, strict=True)}

    def importers(path: str) -> list[str]:
        return [other for other, text in texts.items() if other != path and imports_any(text, (path,))]

    def is_of_tests(path: str) -> bool:
        return is_test_file(path) or is_helpers_name(path)

    # A package of Go is imported by the name of its folder, and code that is not for tests never imports `testing`.
    return tuple(
        path
        for path in likely
        if path.endswith(".go") or ((others := importers(path)) and all(map(is_of_tests, others)))
    )


def _reported(reported: Report | None, unknown: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """The files that the reported tests come from. Runners name tests by their place below one of the folders."""
    if reported is None:
        return
    places: dict[str, list[str]] = {}
    for path in unknown:
        starts = (f"{folder}/" for folder in folders if folder)
        for place in {path, *(path.removeprefix(start) for start in starts if path.startswith(start))}:
            places.setdefault(place, []).append(path)
    sources = ChangedSources(tuple(places))
    for test in reported.cases:
        yield from (path for place in sources.of(test) for path in places[place])


def _only_tests(judged: Judged, paths: Sequence[str], earlier: Collection[str]) -> frozenset[str]:
    """Those of the files that import code of the project and that no other file imports: they have helpers of tests."""
    others = [path for path in earlier if path.endswith(SCRIPTS) and not is_test_file(path)]
    if not paths or len(others) > MAX_SEARCHED:
        return frozenset()
    texts = {path: next(_contents(judged.repository, path, (judged.before,)), b"") for path in others}
    return frozenset(
        path
        for path in paths
        if imports_any(texts.get(path, b""), [other for other in others if other != path])
        and not any(imports_any(text, (path,)) for other, text in texts.items() if other != path)
    )


class _Steering(NamedTuple):
    """Decides whether a changed file, besides tests, can change what the command proves."""

    repository: Repository
    trees: tuple[Tree, Tree]
    suite: SuiteCommand
    folders: tuple[str, ...]
    listing: Mapping[str, object]
    earlier: frozenset[str] | set[str]
    programs: frozenset[str]
    """Those that the command starts behind other tools, and the files that its settings name."""
    is_installed: Callable[[str], bool]
    """Whether a Python module of this name is installed where the command looks for modules."""

    def has(self, path: str) -> bool:
        name = PurePosixPath(path).name
        if name in MANIFESTS:
            is_read = matches_any(self.suite.steering, path) or path in self.programs
            return is_read and self._is_manifest_changed(path)
        if "vendor" in PurePosixPath(path).parts[:-1]:
            # A library that the work adds is part of it, like its entry in the list of libraries.
            is_new = str(PurePosixPath(path).parent) not in self.listing or name == "modules.txt"
            return not is_new and matches_any(self.suite.steering, path)
        return (
            matches_any(self.suite.steering, path)
            or (self.suite.runs_tests and is_shadow(path, self._was_there, self.folders, self.is_installed))
            or (self.suite.runner == "mypy" and path not in self.earlier and is_stub(path, self._was_there))
            or (name in self.suite.goals and path not in self.earlier)
            or path in self.programs
        )

    def _was_there(self, path: str) -> bool:
        return path in self.listing or path in self.earlier

    def _is_manifest_changed(self, path: str) -> bool:
        before, now = (next(_contents(self.repository, path, (tree,)), None) for tree in self.trees)
        return is_steered(path, before, now)


def _locks(paths: Sequence[str]) -> tuple[str, ...]:
    """The lock files of restored manifests: one without the other is refused."""
    places = (PurePosixPath(path) for path in paths)
    return tuple(str(place.with_name(LOCKS_OF[place.name])) for place in places if place.name in LOCKS_OF)


def changed_inline_tests(
    repository: Repository, before: Tree, now: Tree, suite: SuiteCommand
) -> tuple[str, ...]:
    """Changed files of code that have tests inside."""
    paths = [path for path in changed_paths(repository, before, now) if may_have_inline_tests(path)]
    if not paths or suite.runner not in INLINE_RUNNERS:
        return ()
    candidates = [path for path in paths if not is_test_file(path, suite.files)]
    places = [(path, entry) for path in candidates for entry in _entries(repository, path, (before, now))]
    # Read together, because the work may have changed thousands of files.
    contents = read_small_blobs(trees(repository), [entry.name for _, entry in places], MAX_SOURCE)
    inline = {
        path
        for (path, _), content in zip(places, contents, strict=True)
        if content is None or has_inline_tests(path, content)
    }
    return tuple(path for path in candidates if path in inline)


def _contents(repository: Repository, path: str, of: tuple[Tree, ...]) -> Iterator[bytes]:
    names = [entry.name for entry in _entries(repository, path, of)]
    return (content or b"" for content in read_small_blobs(trees(repository), names, MAX_SOURCE))


def _entries(repository: Repository, path: str, of: tuple[Tree, ...]) -> Iterator[Entry]:
    folder, _, name = path.rpartition("/")
    for tree in of:
        entry = read_listing(trees(repository), tree).get(folder, {}).get(name)
        if entry is not None and entry.mode != FOLDER:
            yield entry

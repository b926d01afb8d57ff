"""A command that runs tests, with its values filled in."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Command
from podium.fast_dataclass import dataclass
from podium.workflow.test_gates.listing import is_declared, steering_of
from podium.workflow.test_gates.runners import (
    MIXED,
    commands_of,
    direct_runner,
    goals_of,
    linters_of,
    runner_of,
)

_OWN_REPORT: Final = ("--junitxml", "--junit-xml")
_OWN_REPORTS: Final = {
    "pytest": _OWN_REPORT,
    "vitest": ("--outputFile", "--outputFile.junit", "--outputFile.json"),
    "jest": ("--outputFile",),
}
_NO_REPORT: Final = "no:junitxml"


@dataclass(frozen=True, slots=True)
class SuiteCommand:
    runner: str
    words: tuple[str, ...]
    script: str
    report: str | None
    """The report that the file declares with `junit`."""
    files: tuple[str, ...]
    may_change: tuple[str, ...]
    steering: tuple[str, ...] = ()
    """Globs of the files that decide what the command proves, besides tests."""
    goals: frozenset[str] = frozenset()
    """Goals of make, each of which a file of that name would switch off."""
    runs_tests: bool = True
    """False for a command that only judges the code, such as a linter."""

    def mentions(self, *options: str) -> bool:
        return any(option in text for option in options for text in (*self.words, self.script))

    @property
    def named_folders(self) -> tuple[str, ...]:
        """The words of the command that may be folders, without the slash at their end."""
        return tuple(dict.fromkeys(word for word in self._places() if word not in (".", "..", "")))

    def _places(self) -> set[str]:
        return {
            word.partition("::")[0].rstrip("/").removeprefix("./")
            for word in (*self.words, *self.script.split())
        }

    def names_file(self, path: str, earlier: Collection[str]) -> bool:
        """Whether the command names a new file, its module, or a folder that only has new files."""
        folders = {str(folder) for folder in PurePosixPath(path).parents if str(folder) not in earlier}
        return self._names(path) or bool(self._places() & (folders - {"."}))

    def names_test(self, path: str) -> bool:
        """Whether the command hands a file to its runner. What a plain interpreter starts may be the work itself."""
        return runner_of(self.words, self.script or None) is not None and self._names(path)

    def _names(self, path: str) -> bool:
        words, module = self._places(), path.rpartition(".")[0].replace("/", ".")
        is_module = path.endswith(".py") and any(
            word == module or word.startswith(f"{module}.") for word in words
        )
        return is_module or path in words

    @property
    def is_extendable(self) -> bool:
        """Whether options can be added at the end of the command."""
        return not self.script and "--" not in self.words and direct_runner(self.words) == self.runner

    @property
    def asks_pytest(self) -> bool:
        """Whether Podium asks pytest for a report."""
        is_free = self.report is None and not self.mentions(*_OWN_REPORT, _NO_REPORT)
        return self.runner == "pytest" and is_free

    @property
    def own_report(self) -> str | None:
        """The report that the command itself asks its runner for, although the file does not declare it."""
        options = _OWN_REPORTS.get(self.runner)
        if options is None or self.report is not None or self.mentions(_NO_REPORT):
            return None
        for command in (self.words, *commands_of(self.script)):
            for at, word in enumerate(command):
                option, _, value = word.partition("=")
                if option in options:
                    path = value or next(iter(command[at + 1 :]), "")
                    return None if not path or path.startswith(("/", "..")) else path
        return None


def suite_command(verb: Command, names: Names) -> SuiteCommand | None:
    """None for a command that is judged by its exit code alone: it runs no tests and no linter, as far as can be seen."""
    words = fill_argv(verb.argv, names)
    runner = runner_of(words, verb.script)
    linters = linters_of(words, verb.script)
    if (verb.tests is not None and not verb.tests.counts) or not (is_declared(verb) or runner or linters):
        return None
    files = () if verb.tests is None else fill_argv(verb.tests.files, names)
    may_change = () if verb.tests is None else fill_argv(verb.tests.may_change, names)
    report = None if verb.junit is None else as_text(fill(verb.junit, names), Meter())
    return SuiteCommand(
        runner or (MIXED if is_declared(verb) else linters[0]),
        words,
        verb.script or "",
        report,
        files,
        may_change,
        steering_of(words, verb.script),
        goals_of(words, verb.script),
        runs_tests=runner is not None or is_declared(verb),
    )

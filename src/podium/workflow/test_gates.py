"""Recognises commands that run tests, the files that are tests, and the files that decide what such a command proves.

A gate that runs tests must also pass with the tests and settings from before the judged work; otherwise the author of
the code would also write what it is judged by.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from podium.core.globs import glob_matches
from podium.core.model import Command, Workflow
from podium.core.queries.steps import all_steps

TEST_FILES: Final = (
    "test/**", "tests/**", "**/test/**", "**/tests/**", "**/__tests__/**", "spec/**", "**/spec/**",
    "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*Test.*", "**/*Tests.*", "**/conftest.py",
    "**/__snapshots__/**", "**/*.snap", "**/testdata/**",
)  # fmt: skip
"""Where most projects keep their tests, snapshots and fixtures; other changed files count as the code under test."""

STEERING_FILES: Final = (
    "**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.ini", "**/tox.toml",
    "**/setup.cfg", "**/pyproject.toml", "**/noxfile.py", "**/.coveragerc",
    "**/sitecustomize.py", "**/usercustomize.py", "**/*.pth", "**/*.egg-info/**", "**/*.dist-info/**",
    "**/package.json", "**/.npmrc", "**/.yarnrc*", "**/jest.config.*", "**/jest.setup.*", "**/vitest.config.*",
    "**/vitest.workspace.*", "**/vitest.setup.*", "**/vite.config.*", "**/babel.config.*", "**/.babelrc*",
    "**/.mocharc*", "**/.nycrc*", "**/karma.conf.*", "**/tsconfig*.json", "**/.swcrc",
    "**/.cargo/config*", "**/.config/nextest.toml", "**/nextest.toml",
    "**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Justfile", "**/Taskfile*",
    "**/Rakefile", "**/.rspec", "**/phpunit.xml*", "**/pom.xml", "**/build.gradle*",
)  # fmt: skip
"""Settings that decide which tests a runner finds and how it runs them."""

_RUNNER_MODULES: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "unittest"})
"""Python modules of test runners: a new file of that name anywhere may be imported instead."""
_SHADOWED: Final = frozenset(sys.stdlib_module_names) | {
    "py",
    "packaging",
    "coverage",
    "xdist",
    "hypothesis",
    "tox",
    "nox",
}
"""Further modules that a runner imports: a new file of that name at the top of the tree may be imported instead."""

_RUNNERS: Final = (
    ("pytest", ("pytest",)),
    ("pytest", ("py.test",)),
    ("unittest", ("-m", "unittest")),
    ("node", ("node", "--test")),
    ("vitest", ("vitest",)),
    ("jest", ("jest",)),
    ("go", ("go", "test")),
    ("cargo", ("cargo", "test")),
    ("cargo", ("cargo", "nextest")),
    *(("other", (name,)) for name in ("tox", "nox", "mocha", "ava", "rspec", "phpunit", "ctest", "karma")),
    *(("other", (name, "test")) for name in ("npm", "pnpm", "yarn", "deno", "bun", "mvn", "gradle", "dotnet", "mix", "swift")),
    *(("other", (name, "run", "test")) for name in ("npm", "pnpm", "yarn", "bun")),
    *(("other", (name, goal)) for name in ("make", "just", "task", "rake") for goal in ("test", "tests", "check")),
)  # fmt: skip
_CUT: Final = re.compile(r"&&|\|\||[;|&\n(){}]")
_LEADING: Final = frozenset(
    {"env", "exec", "time", "timeout", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "npx", "pnpx"}
)


def runner_of(words: Sequence[str], script: str | None = None) -> str | None:
    """The test runner that a command starts, "other" for one whose output is not understood; None for other commands."""
    commands = [tuple(words)] if script is None else list(_commands(script))
    if len(words) >= 3 and PurePosixPath(words[0]).name in ("sh", "bash", "dash", "zsh") and "c" in words[1]:
        commands += _commands(words[2])
    return next((runner for command in commands if (runner := _runner(command)) is not None), None)


def _commands(script: str) -> Iterator[tuple[str, ...]]:
    for part in _CUT.split(script):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        if words:
            yield tuple(words)


def _runner(command: tuple[str, ...]) -> str | None:
    names = tuple(PurePosixPath(word).name if "/" in word else word for word in command)
    for runner, needed in _RUNNERS:
        first, *rest = needed
        if first not in names[:1] and not (_is_launched(names) and first in names):
            continue
        after = names[names.index(first) + 1 :]
        if all(word in after for word in rest) and (runner != "other" or not rest or _follows(after, rest)):
            return runner
    return None


def _is_launched(names: tuple[str, ...]) -> bool:
    """Whether the first word starts another program: an interpreter with -m, or a tool that runs others."""
    return names[0] in _LEADING or "=" in names[0] or ("-m" in names and names[0].startswith("python"))


def _follows(after: tuple[str, ...], rest: list[str]) -> bool:
    """Whether the words come first, apart from options: `make test`, `npm --silent test`."""
    plain = [word for word in after if not word.startswith("-")]
    return plain[: len(rest)] == rest


def is_test_file(path: str, globs: Iterable[str] = ()) -> bool:
    """`globs` are those that the author names instead of the usual ones."""
    return _any(tuple(globs) or TEST_FILES, path)


def steers_tests(path: str) -> bool:
    """Whether a file is a setting that decides which tests run and how."""
    return _any(STEERING_FILES, path)


def shadows_module(path: str) -> bool:
    """Whether a new file would be imported in place of a module that a Python test runner needs."""
    names = [PurePosixPath(part).stem for part in path.split("/")]
    return path.endswith(".py") and (names[0] in _SHADOWED or any(name in _RUNNER_MODULES for name in names))


def _any(patterns: tuple[str, ...], path: str) -> bool:
    return any(glob_matches(pattern, path) for pattern in patterns)


@lru_cache(maxsize=16)
def _counted(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_COUNTS: Final = {
    "unittest": (r"^Ran (\d+) tests? in ", r"skipped=(\d+)"),
    "node": (r"^(?:#|ℹ) (?:pass|fail) (\d+)$", ""),
    "go": (r"^(ok)\s+\S+\s+\S+(?!.*\[no tests to run\]).*$|\"Action\":\"(?:pass)\",.*\"Test\":", ""),
    "cargo": (r"^running ([1-9]\d*) tests?$|(\d+) tests? run:", ""),
}


def executed_tests(runner: str, output: str) -> int | None:
    """How many tests a runner says it executed; None if its output does not tell."""
    if runner not in _COUNTS:
        return None
    executed, skipped = _COUNTS[runner]
    total = sum(_number(match) for match in _counted(executed).finditer(output))
    return total - (sum(_number(match) for match in _counted(skipped).finditer(output)) if skipped else 0)


def _number(match: re.Match[str]) -> int:
    word = next((group for group in match.groups() if group), "")
    return int(word) if word.isdecimal() else 1


_NODE_FILE: Final = re.compile(
    r"^(?:\s*ok \d+ - |\s*✔ )(\S.*\.[cm]?[jt]sx?)(?: \([\d.]+ms\))?$", re.MULTILINE
)


def files_without_tests(runner: str, output: str) -> frozenset[str]:
    """Files that a runner reports as passed without a test in them: helpers, and files whose process ended early."""
    return frozenset(_NODE_FILE.findall(output)) if runner == "node" else frozenset()


_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|deno|bun|lua|sh|bash|dash|zsh|ksh)[\d.]*"
)
_TOOL_FOLDERS: Final = frozenset("tools tool scripts script ci .ci bin hack build-tools dev".split())


def judge_programs(words: Sequence[str], script: str | None = None) -> tuple[str, ...]:
    """Files of the tree that a command starts as programs: `tools/check`, or a script in a folder of tools.

    A script elsewhere, as in `python app.py`, is more likely the work itself.
    """
    commands = [tuple(words)] if script is None else list(_commands(script))
    return tuple(dict.fromkeys(path for command in commands for path in _programs(command)))


def _programs(command: tuple[str, ...]) -> Iterator[str]:
    if not command:
        return
    first = command[0].removeprefix("./")
    if "/" in command[0] and not command[0].startswith(("/", "../")):
        yield first
    elif _INTERPRETERS.fullmatch(command[0]):
        named = next((word for word in command[1:] if not word.startswith("-")), "").removeprefix("./")
        if any(part in _TOOL_FOLDERS for part in named.split("/")[:-1]) and not named.startswith("/"):
            yield named


class ListedSuite(NamedTuple):
    """A command of a workflow that runs tests, which is judged more strictly than others."""

    path: str
    """The address of the step or gate, without numbers."""
    runner: str
    """The recognised runner, or the key by which the command counts: `junit`, `tests`."""


def list_suites(workflow: Workflow) -> tuple[ListedSuite, ...]:
    suites = []
    for path, step, _ in all_steps(workflow):
        verb = step.verb
        if not isinstance(verb, Command):
            continue
        runner = runner_of([word for word in verb.argv if isinstance(word, str)], verb.script)
        declared = [key for key, value in (("junit", verb.junit), ("tests", verb.tests)) if value is not None]
        is_denied = verb.tests is not None and not verb.tests.counts
        if (runner is not None or declared) and not is_denied:
            name = runner if runner not in (None, "other") else (*declared, "tests")[0]
            suites.append(ListedSuite(str(path), name))
    return tuple(suites)

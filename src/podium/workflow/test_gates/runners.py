"""Recognises commands that run tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from podium.workflow.test_gates.files import is_test_file

MIXED: Final = "other"
"""A command that starts tools which its words do not name."""
_TEST_GOAL: Final = re.compile(
    r"(?:.*[:._-])?(?:tests?|checks?|specs?|unit|units|unittests?|integration|e2e|smoke|pytest|vitest|jest)(?:[:._-].*)?"
)
"""`test`, `test:unit`, `unit-tests`, `check.all`: what goals of make and scripts of npm that run tests are called."""
_LINT_GOAL: Final = re.compile(
    r"(?:.*[:._-])?(?:lint|linters?|typecheck|type-check|types|format|fmt|style|vet|verify|ci|qa|static|analyse|analyze)"
    r"(?:[:._-].*)?"
)
_GOAL_TOOLS: Final = frozenset(
    {"make", "gmake", "just", "task", "rake", "invoke", "inv", "mise", "nx", "turbo", "composer"}
)
_SCRIPT_TOOLS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_RUN_WORDS: Final = frozenset({"run", "run-script", "rum", "urn"})
_VALUED: Final = frozenset(
    {
        "-C",
        "-f",
        "-I",
        "-o",
        "--directory",
        "--file",
        "--makefile",
        "--prefix",
        "-w",
        "--workspace",
        "--cwd",
        "--filter",
        "-F",
    }
)
"""Options of make, npm and the like that take the next word."""
_BUILDERS: Final = (
    *(
        "deno",
        "mvn",
        "mvnw",
        "gradle",
        "gradlew",
        "dotnet",
        "mix",
        "swift",
        "sbt",
        "bazel",
        "bazelisk",
        "zig",
        "hatch",
    ),
    *(
        "pdm",
        "rye",
        "flutter",
        "dart",
        "stack",
        "cabal",
        "manage.py",
        "playwright",
        "elm",
        "forge",
        "hardhat",
        "meson",
    ),
)
_BUILDER_GOALS: Final = frozenset({"verify"})
_RUNNERS: Final = (
    ("pytest", ("pytest",)),
    ("pytest", ("py.test",)),
    ("unittest", ("-m", "unittest")),
    ("node", ("node", "--test")),
    ("vitest", ("vitest",)),
    ("jest", ("jest",)),
    ("go", ("go", "test")),
    ("cargo", ("cargo", "test")),
    ("cargo", ("cargo", "t")),
    ("cargo", ("cargo", "nextest")),
    *((MIXED, (name,)) for name in (
        *("tox", "nox", "mocha", "ava", "rspec", "phpunit", "ctest", "karma", "nose2", "trial", "stestr", "behave", "bats"),
        *("prove", "gotestsum", "tap", "uvu", "pest", "minitest", "green", "ward", "busted", "cucumber", "robot"),
    )),
    (MIXED, ("cypress", "run")),
    (MIXED, ("cargo", "llvm-cov")),
    (MIXED, ("tsx", "--test")),
)  # fmt: skip
_OTHER_LINTERS: Final = frozenset(
    "pylint black isort pyright basedpyright pyre pytype bandit vulture pycodestyle pydocstyle biome prettier stylelint oxlint"
    " xo standard golangci-lint staticcheck gofmt shellcheck hadolint rubocop yamllint markdownlint ktlint detekt".split()
)
_LINTERS: Final = (
    *((name, (name,)) for name in ("ruff", "flake8", "mypy", "eslint", "tsc")),
    *(("clippy", ("cargo", name)) for name in ("clippy", "check", "fmt")),
    ("go", ("go", "vet")),
    *((MIXED, (name,)) for name in sorted(_OTHER_LINTERS)),
    (MIXED, ("pre-commit", "run")),
)
_CUT: Final = re.compile(r"&&|\|\||[;|&\n(){}]")
_LEADING: Final = frozenset(
    "env exec time timeout nice ionice nohup setsid stdbuf chrt taskset sudo doas xvfb-run dbus-run-session command uv uvx"
    " poetry pipenv pdm hatch rye pixi conda mamba micromamba mise direnv dotenv op npx pnpx bunx bundle coverage c8 nyc"
    " dotenvx cross-env strace script".split()
)
"""Programs that start the one which their arguments name."""
_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|deno|bun|lua|sh|bash|dash|zsh|ksh)[\d.]*"
)
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")


def runner_of(words: Sequence[str], script: str | None = None) -> str | None:
    """The test runner that a command starts, "other" for one whose output is not understood; None for other commands."""
    started = (_runner(command) for command in _commands(words, script))
    return next((runner for runner in started if runner is not None), None)


def linters_of(words: Sequence[str], script: str | None = None) -> tuple[str, ...]:
    """The tools that a command starts which judge the code without running it; "other" for a goal such as `make lint`."""
    names = (_linter(command) for command in _commands(words, script))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def goals_of(words: Sequence[str], script: str | None = None) -> frozenset[str]:
    """The goals of make: a file of that name may make it do nothing."""
    return frozenset(
        word
        for command in _commands(words, script)
        if PurePosixPath(command[0]).name in ("make", "gmake")
        for word in command[1:]
        if not word.startswith("-")
    )


def _commands(words: Sequence[str], script: str | None) -> list[tuple[str, ...]]:
    commands = [tuple(words)] if script is None and words else list(commands_of(script or ""))
    if len(words) >= 3 and PurePosixPath(words[0]).name in ("sh", "bash", "dash", "zsh") and "c" in words[1]:
        commands += commands_of(words[2])
    return commands


def commands_of(script: str) -> Iterator[tuple[str, ...]]:
    for part in _CUT.split(script):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        if words:
            yield tuple(words)


@lru_cache(maxsize=256)
def _runner(command: tuple[str, ...]) -> str | None:
    return _match(command, _RUNNERS) or _goal(command, _TEST_GOAL) or _started_test(command)


@lru_cache(maxsize=256)
def _linter(command: tuple[str, ...]) -> str | None:
    return _match(command, _LINTERS) or _goal(command, _LINT_GOAL)


def _match(command: tuple[str, ...], tools: Iterable[tuple[str, tuple[str, ...]]]) -> str | None:
    names = tuple(_plain_names(command))
    if not names:
        return None
    is_launched = _is_launched(names)
    for runner, needed in tools:
        first, *rest = needed
        if first != names[0] and not (is_launched and first in names):
            continue
        after = names[names.index(first) + 1 :]
        if all(word in after for word in rest) and (runner != MIXED or not rest or _follows(after, rest)):
            return runner
    return None


def _plain_names(command: Iterable[str]) -> Iterator[str]:
    """The words, of paths the last part only; `-mpytest` as two words. A tool of npm that starts another is left out."""
    words = [PurePosixPath(word).name if "/" in word else word for word in command]
    if words[:1] and words[0] in ("yarn", "pnpm", "bun"):
        rest = words[2:] if words[1:2] and words[1] in ("exec", "x", "dlx", "run") else words[1:]
        if any(rest[:1] == [needed[0]] for _, needed in (*_RUNNERS, *_LINTERS)):
            words = rest
    for word in words:
        if len(word) > 2 and word.startswith("-m") and _PYTHON.fullmatch(words[0]):
            yield from ("-m", word[2:])
        else:
            yield word


def _goal(command: tuple[str, ...], pattern: re.Pattern[str]) -> str | None:
    """ "other" if a command asks make, npm or a similar tool for a goal whose name says so."""
    names = tuple(_plain_names(command))
    at = next((at for at, name in enumerate(names) if name in _GOAL_TOOLS | _SCRIPT_TOOLS | {*_BUILDERS}), -1)
    if at < 0 or (
        at and not _is_launched(names) and not (names[at] == "manage.py" and _PYTHON.fullmatch(names[0]))
    ):
        return None
    tool, goals = names[at], _goals(names[at + 1 :])
    if tool in _SCRIPT_TOOLS:
        goals = goals[1:2] if goals[:1] and goals[0] in _RUN_WORDS else goals[:1]
        is_short = (
            tool == "npm" and goals[:1] and goals[0] in ("t", "tst", "it", "cit") and pattern is _TEST_GOAL
        )
        return MIXED if is_short or any(map(pattern.fullmatch, goals)) else None
    if tool in _BUILDERS:
        is_test = bool(_BUILDER_GOALS & set(goals)) or any(map(_TEST_GOAL.fullmatch, goals))
        return MIXED if pattern is _TEST_GOAL and is_test else None
    return MIXED if any(map(pattern.fullmatch, goals)) else None


def _goals(words: Sequence[str]) -> list[str]:
    """The words that are neither options nor values of options nor variables."""
    return [
        word
        for at, word in enumerate(words)
        if not word.startswith("-") and "=" not in word and (at == 0 or words[at - 1] not in _VALUED)
    ]


def _started_test(command: tuple[str, ...]) -> str | None:
    """ "other" if an interpreter is given a file that is a test by its place or name: `python tests/run.py`."""
    if not command or not _INTERPRETERS.fullmatch(PurePosixPath(command[0]).name):
        return None
    named = next((word for word in command[1:] if not word.startswith("-")), "")
    is_file = (
        "." in PurePosixPath(named).name and not named.startswith("/") and not {"-m", "-c", "-e"} & {*command}
    )
    return MIXED if is_file and is_test_file(named.removeprefix("./")) else None


def direct_runner(words: Sequence[str]) -> str | None:
    """The test runner that a command starts itself, without a shell."""
    return _runner(tuple(words))


def _is_launched(names: tuple[str, ...]) -> bool:
    """Whether the first word starts another program: an interpreter with -m, or a tool that runs others."""
    return names[0] in _LEADING or "=" in names[0] or ("-m" in names and names[0].startswith("python"))


def _follows(after: tuple[str, ...], rest: list[str]) -> bool:
    """Whether the words come first, apart from options: `make test`, `npm --silent test`."""
    plain = [word for word in after if not word.startswith("-")]
    return plain[: len(rest)] == rest

"""Recognises commands that run tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

MIXED: Final = "other"
"""A command that starts tools which its words do not name."""
_LINT_GOALS: Final = (
    "lint",
    "typecheck",
    "type-check",
    "types",
    "format",
    "fmt",
    "style",
    "vet",
    "verify",
    "ci",
)
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
_LINTERS: Final = (
    *((name, (name,)) for name in ("ruff", "flake8", "mypy", "eslint", "tsc")),
    *(("clippy", ("cargo", name)) for name in ("clippy", "check", "fmt")),
    ("go", ("go", "vet")),
    *((MIXED, (name, "run", goal)) for name in ("npm", "pnpm", "yarn", "bun") for goal in _LINT_GOALS),
    *(
        (MIXED, (name, goal))
        for name in ("make", "just", "task", "rake", "yarn", "pnpm")
        for goal in _LINT_GOALS
    ),
    (MIXED, ("pre-commit", "run")),
)
_CUT: Final = re.compile(r"&&|\|\||[;|&\n(){}]")
_LEADING: Final = frozenset(
    {"env", "exec", "time", "timeout", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "npx", "pnpx"}
)


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
    return _match(command, _RUNNERS)


@lru_cache(maxsize=256)
def _linter(command: tuple[str, ...]) -> str | None:
    return _match(command, _LINTERS)


def _match(command: tuple[str, ...], tools: Iterable[tuple[str, tuple[str, ...]]]) -> str | None:
    names = tuple(PurePosixPath(word).name if "/" in word else word for word in command)
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

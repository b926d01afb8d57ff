"""Finds the programs of the tree that a gate starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath
from typing import Final

from podium.core.globs import glob_matches
from podium.core.model import Command, Step
from podium.workflow.test_gates.runners import commands_of

_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|deno|bun|lua|sh|bash|dash|zsh|ksh)[\d.]*"
)
_TOOL_FOLDERS: Final = frozenset("tools tool scripts script ci .ci bin hack build-tools dev".split())
EVERYTHING: Final = ("**", "*", "**/*", "./**")
"""Globs that say nothing about what a step is there to change."""


def gate_programs(gate: Step, declared: Iterable[str]) -> tuple[str, ...]:
    """Programs of the tree that a gate starts, relative to the top, without those that the judged step declares to change.

    Only what is written out counts: a value is not known before the work.
    """
    verb, folder = gate.verb, gate.settings.dir or "."
    if not isinstance(verb, Command) or not isinstance(folder, str):
        return ()
    commands = [(verb.argv, verb.script), *((argv, None) for argv in gate.settings.workspace.setup)]
    programs = (
        program
        for argv, script in commands
        for program in judge_programs([word if isinstance(word, str) else "" for word in argv], script)
    )
    paths = (normpath(f"{folder}/{program}") for program in programs)
    own = tuple(glob for glob in declared if glob not in EVERYTHING)
    return tuple(
        path
        for path in paths
        if not path.startswith("..") and not any(glob_matches(glob, path) for glob in own)
    )


def judge_programs(words: Sequence[str], script: str | None = None) -> tuple[str, ...]:
    """Files of the tree that a command starts as programs: `tools/check`, or a script in a folder of tools.

    A script elsewhere, as in `python app.py`, is more likely the work itself.
    """
    commands = [tuple(words)] if script is None else list(commands_of(script))
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

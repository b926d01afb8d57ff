"""Looks for what a command starts, inside its sandbox and without running the command: programs, modules, scripts.

A shell script is looked at only as far as it is plain: behind `||` or in a branch a program may be missing on purpose.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from podium.attempt.command.checkout import CommandAttempt, open_checkout
from podium.attempt.host import Host
from podium.attempt.launch import build_launch
from podium.attempt.workspace.toolchain import check_editable
from podium.attempt.workspace.workspace import Workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import fill_argv
from podium.core.globs import glob_matches
from podium.core.model import Command, Step
from podium.core.payloads import Amounts
from podium.core.types import Address, Tree
from podium.errors import PodiumError

LOOK_S: Final = 30.0
_FIND_MODULE: Final = (
    "import importlib.util,sys\nsys.exit(0 if importlib.util.find_spec(sys.argv[1]) is not None else 1)"
)
_FIND_SCRIPT: Final = (
    "const {scripts} = JSON.parse(require('fs').readFileSync('package.json', 'utf-8'));"
    "process.exit(scripts && scripts[process.argv[1]] ? 0 : 1)"
)
_FIND_TOOL: Final = (
    'here=$PWD; while :; do test -x "$here/node_modules/.bin/$1" && exit 0; test "$here" = / && break; '
    'here=${here%/*}; here=${here:-/}; done; command -v "$1"'
)
_FIND_RULE: Final = (
    'out=$(make --dry-run "$1" 2>&1); case $out in *"No rule to make target"*"$1"*) exit 1;; esac'
)
_NOT_PLAIN: Final = re.compile(
    r"\|\||<<|\$\(|`|\b(?:if|case|while|until|for|function|command -v|which|trap|set \+e)\b|\(\)"
)
_WORD: Final = re.compile(r"[\w./+-]+")
_PYTHON: Final = re.compile(r"python[\d.]*")
_PREFIXES: Final = frozenset({"env", "exec", "time", "nice", "nohup"})
_SCRIPTS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})


class Need(NamedTuple):
    """Something that a command needs, and a command that succeeds if it is there."""

    what: str
    check: tuple[str, ...]
    file: str = ""
    """The file of the tree that it may be, which the work could still create."""


async def missing_needs(
    host: Host, step: Step, names: Names, tree: Tree | None, *, path: str, touches: Iterable[str] = ()
) -> tuple[str, ...]:
    """What the command of a step would not find, one text each; empty if it depends on values that only a run has.

    What the judged step may create counts as found; `touches` are its globs.
    """
    verb = step.verb
    assert isinstance(verb, Command)
    started = AttemptStarted(
        at=host.now(), path=Address(path), attempt=1, reserve=Amounts(), base=tree, start=tree
    )
    attempt = CommandAttempt(host, started, step, verb, names, tree, is_gate=True)
    try:
        words = fill_argv(verb.argv, names)
        globs = tuple(touches)
        needs = [need for need in needs_of(words, verb.script, verb.shell) if not _may_be_made(need, globs)]
        async with open_checkout(attempt, tree) as workspace:
            return tuple(
                [need.what for need in needs if not await _is_met(host, step, names, workspace, need, words)]
            )
    except (ExprError, NeedFact):
        return ()
    except PodiumError as error:
        return (error.message.partition("\n")[0],)


def _may_be_made(need: Need, globs: tuple[str, ...]) -> bool:
    return bool(need.file) and any(glob_matches(glob, need.file) for glob in globs)


async def _is_met(
    host: Host, step: Step, names: Names, workspace: Workspace, need: Need, words: tuple[str, ...]
) -> bool:
    launch, policy = build_launch(host, step, names, workspace, argv=need.check, timeout_s=LOOK_S, plain=True)
    sandbox = host.sandbox_of(step)
    verb = step.verb
    assert isinstance(verb, Command)
    host_env = {**launch.env, "PATH": host.host_env.get("PATH", launch.env["PATH"])}
    check_editable(host.project, sandbox.level, words or need.check, host_env, verb.script or "")
    finished = await sandbox.run(launch, policy)
    return finished.exit_code == 0 or finished.timed_out


def needs_of(words: Sequence[str], script: str | None, shell: str | None = None) -> Iterator[Need]:
    """What a command needs, as far as its words tell."""
    if script is None:
        yield from _needs(tuple(words))
        return
    yield _program(shell or "bash")
    if _NOT_PLAIN.search(script):
        return
    for line in script.splitlines():
        for part in re.split(r"&&|[;|]", line):
            try:
                yield from _needs(tuple(shlex.split(part, comments=True)))
            except ValueError:
                return


def _needs(words: tuple[str, ...]) -> Iterator[Need]:
    if not words or not _WORD.fullmatch(words[0]):
        return
    name, rest = PurePosixPath(words[0]).name, words[1:]
    yield _program(words[0])
    plain = [word for word in rest if not word.startswith("-") and "=" not in word]
    if name in _PREFIXES:
        yield from _needs(tuple(plain and rest[rest.index(plain[0]) :]))
    elif _PYTHON.fullmatch(name) and "-m" in rest[:-1]:
        options, module = rest[: rest.index("-m")], rest[rest.index("-m") + 1]
        file = f"{module.replace('.', '/')}.py"
        yield Need(f"module {module} of {words[0]}", (words[0], *options, "-c", _FIND_MODULE, module), file)
    elif name == "npx" and plain and not {"-p", "--package", "-c"} & set(rest):
        yield Need(f"program {plain[0]} of npx", ("sh", "-c", _FIND_TOOL, "sh", plain[0]))
    elif name in _SCRIPTS and (script := _script_of(plain)):
        yield Need(f'script "{script}" in package.json', ("node", "-e", _FIND_SCRIPT, script))
    elif name == "make" and len(plain) == len(rest) == 1:
        yield Need(f'rule "{plain[0]}" in the Makefile', ("sh", "-c", _FIND_RULE, "sh", plain[0]))


def _script_of(plain: Sequence[str]) -> str:
    if plain[:1] == ["test"]:
        return "test"
    return plain[1] if plain[:1] == ["run"] and len(plain) > 1 else ""


def _program(word: str) -> Need:
    file = posixpath.normpath(word) if "/" in word and not word.startswith("/") else ""
    return Need(f"program {word}", ("sh", "-c", 'command -v "$1"', "sh", word), file)

"""Tries a command of a workflow on a tree that no agent has changed: does it run there, and would it prove anything?

It runs as in a run: in a checkout of the tree, set up like the judged step's, inside the sandbox.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.attempt.command.printed.results import MAX_PRINTED
from podium.attempt.command.printed.totals import executed_by_any
from podium.attempt.command.result import CommandResult
from podium.attempt.command.suite import executed_none, suite_problem
from podium.attempt.command.suite_command import suite_command
from podium.attempt.host import Host
from podium.attempt.workspace.workspace import Workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.model import Command, Step
from podium.core.payloads import Amounts
from podium.core.types import Address, Millis, Tree
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass

TrialStatus: TypeAlias = Literal["passed", "red", "no_tests", "missing", "timeout", "error", "unknown"]
"""`missing`: a program or module is not there. `error`: its surroundings fail. `unknown`: only a run knows its values."""

MAX_MESSAGE: Final = 300
_REASONS: Final = re.compile(
    r"^(?:E\s+)?((?:ModuleNotFoundError|ImportError(?!: Failed to import test module)|SyntaxError|FileNotFoundError)\b.*)$"
    r"|^((?:error|fatal|FAILED)\b[:\[ ].*)$|^(.*\berror TS\d+: .*)$|^(?:npm error|npm ERR!) (.*)$|^(\[ERROR\] .*)$",
    re.MULTILINE,
)
_MISSING: Final = (
    (r"^\S*python[\d.]*: No module named '?([\w.]+)'?", "{} has no module {}"),
    (r"^(?:\S+: (?:line )?\d+: |\S*sh: )'?([\w./+-]+)'?: (?:command )?not found$", "{} did not find the program {}"),
    (r"^\S*make(?:\[\d+\])?: '?([\w./+-]+)'?: No such file or directory$", "{} did not find the program {}"),
    (r"^\S*make(?:\[\d+\])?: \*\*\* No rule to make target '([^']+)'", "{} has no rule for {}"),
    (r"^(?:npm error|npm ERR!) Missing script: \"([^\"]+)\"", "{} has no script {}"),
    (r"^(?:npm error|npm ERR!) npx canceled due to missing packages.*\[?\"([^\"\]]+)\"", "{} did not find {}"),
    (r"^(?:npm error|npm ERR!) (?:could not determine executable to run|npx canceled).*()$", "{} did not find its program"),
    (r"^error: no such (?:sub)?command: `([\w-]+)`", "{} has no command {}"),
    (r"^error: rustup could not choose a version of (\w+) to run", "{}: rustup has no toolchain here"),
    (r"^error: '([\w-]+)' is not installed for the toolchain", "{} did not find {}"),
    (r"^error: (?:Failed to spawn|Program not found): `([^`]+)`", "{} did not find the program {}"),
    (r"^(?:Command not found|command not found): ([\w./+-]+)$", "{} did not find the program {}"),
    (r"^env: '?‘?([\w./+-]+)’?'?: No such file or directory$", "{} did not find the program {}"),
)  # fmt: skip
"""What programs print if they do not find another one."""
_MISSING_COMPILED: Final = tuple((re.compile(pattern, re.MULTILINE), text) for pattern, text in _MISSING)
_NOT_LOADED: Final = re.compile(r"^ImportError: Failed to import test module", re.MULTILINE)
"""unittest counts a module that it cannot import as one failed test."""
_BEFORE_TESTS: Final = re.compile(r"\b(?:errors? during collection|ImportError while loading conftest)\b")


@dataclass(frozen=True, slots=True)
class Trial:
    status: TrialStatus
    message: str = ""
    """Why it did not pass, in one line."""
    tests: int | None = None
    """How many tests it executed; None if its output does not tell."""
    duration_s: float = 0.0


async def try_command(
    host: Host, step: Step, names: Names, tree: Tree | None, *, path: str, timeout_s: float | None = None
) -> Trial:
    """`tree` is None outside of git, where commands run in the project itself."""
    verb = step.verb
    assert isinstance(verb, Command)
    limit = step.timeout if timeout_s is None else Millis(int(timeout_s * 1000))
    begun = host.now()
    started = AttemptStarted(
        at=begun, path=Address(path), attempt=1, reserve=Amounts(), base=tree, start=tree, timeout=limit
    )
    attempt = CommandAttempt(host, started, step, verb, names, tree, is_gate=True)
    try:
        async with open_checkout(attempt, tree) as workspace:
            outcome = await run_in(host, started, step, names, workspace)
            trial = _trial_of(verb, names, outcome, workspace)
    except (ExprError, NeedFact):
        trial = Trial("unknown", "it depends on values that only a run has")
    except PodiumError as error:
        trial = Trial("error", error.message.partition("\n")[0])
    message = host.mask.text(trial.message)[:MAX_MESSAGE]
    return replace(trial, message=message, duration_s=round((host.now() - begun) / 1000, 1))


def _trial_of(verb: Command, names: Names, outcome: CommandResult, workspace: Workspace) -> Trial:
    output = "\n".join(
        stream.tail(MAX_PRINTED) for stream in (outcome.finished.stdout, outcome.finished.stderr)
    )
    if outcome.kind == "timeout":
        return Trial("timeout", outcome.first_line)
    suite = suite_command(verb, names)
    tests = executed_by_any(output, "other" if suite is None else suite.runner)
    missing = None if tests else _missing_tool(outcome, output)
    if missing is not None:
        return Trial("missing", missing)
    is_none = suite is not None and executed_none(suite, outcome, workspace)
    if is_none and (outcome.kind == "ok" or _REASONS.search(output) is None):
        return Trial("no_tests", f"{outcome.argv[0]} executed no tests", 0)
    if outcome.kind != "ok":
        # Tests that could not even be loaded were not executed.
        executed = 0 if (is_none or _BEFORE_TESTS.search(output)) and not tests else tests
        if executed:
            executed = max(0, executed - len(_NOT_LOADED.findall(output)))
        return Trial("red", _why(outcome, output), executed)
    problem = None if suite is None else suite_problem(suite, outcome, workspace)
    if problem is not None:
        return Trial("no_tests", problem.partition("\n")[0], tests or 0)
    return Trial("passed", "", tests)


def _why(outcome: CommandResult, output: str) -> str:
    """How the command ended, with the first line of its output that gives a reason, or its last line."""
    match = _REASONS.search(output)
    lines = [line for line in output.splitlines() if line.strip()]
    reason = next(group for group in match.groups() if group) if match is not None else "".join(lines[-1:])
    return f"{outcome.first_line}: {reason.strip()}" if reason else outcome.first_line


def _missing_tool(outcome: CommandResult, output: str) -> str | None:
    """What the command did not find; None if it ended for another reason."""
    if outcome.kind == "ok":
        return None
    program = outcome.argv[0]
    if outcome.reason == "not_started":
        return outcome.first_line
    for pattern, text in _MISSING_COMPILED:
        match = pattern.search(output)
        if match is not None:
            return text.format(program, match[1])
    return None

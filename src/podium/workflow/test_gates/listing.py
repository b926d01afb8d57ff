"""Lists the commands of a workflow that run tests, and whether a judge can accept changed tests after each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from podium.core import addresses
from podium.core.model import Call, Command, ForEach, Repeat, Step, Verb, Workflow
from podium.core.queries.steps import has_judge_after, inner_steps, top_steps
from podium.core.types import Address
from podium.workflow.test_gates.runners import MIXED, linters_of, runner_of
from podium.workflow.test_gates.steering import all_steering_globs, steering_globs


class ListedSuite(NamedTuple):
    """A command of a workflow that runs tests, which is judged more strictly than others."""

    path: str
    """The address of the step or gate, without numbers."""
    runner: str
    """The recognised runner, or the key by which the command counts: `junit`, `tests`."""
    judged: bool = False
    """Whether a review or a person after it can accept changed tests."""

    @property
    def described(self) -> str:
        who = "a judge can accept changed tests" if self.judged else "no judge: changed tests fail"
        owner, sign, gate = self.path.rpartition("#/")
        name = f'gate "{gate}" of "{owner}"' if sign else f'"{self.path}"'
        return f"{name} ({self.runner}, {who})"


def list_suites(workflow: Workflow) -> tuple[ListedSuite, ...]:
    return tuple(
        ListedSuite(str(path), _name(step.verb), has_judge_after((step, *around)))
        for path, step, around in _steps(workflow, addresses.ROOT, (Step("", Call(workflow)),))
        if isinstance(step.verb, Command) and runs_tests(step.verb)
    )


def runs_tests(verb: Verb) -> bool:
    """Whether a step is a command that runs tests, as far as its text shows."""
    if not isinstance(verb, Command) or (verb.tests is not None and not verb.tests.counts):
        return False
    return is_declared(verb) or _runner(verb) is not None


def has_earlier_files(verb: Verb) -> bool:
    """Whether a step is a command that must also pass with files from before the work: it runs tests, or a linter."""
    if not isinstance(verb, Command) or (verb.tests is not None and not verb.tests.counts):
        return False
    return runs_tests(verb) or bool(linters_of(_words(verb), verb.script))


def is_declared(verb: Command) -> bool:
    """Whether the file itself says that a command runs tests."""
    return verb.junit is not None or verb.tests is not None


def steering_of(words: Sequence[str], script: str | None) -> tuple[str, ...]:
    """The files besides tests that a command is judged with as they were."""
    runner, linters = runner_of(words, script), linters_of(words, script)
    if MIXED in (runner, *linters):
        return all_steering_globs()
    own = [] if linters and runner is None else [*steering_globs()]
    return tuple(dict.fromkeys((*own, *(glob for name in linters for glob in steering_globs(name)))))


def steering_of_step(verb: Verb) -> tuple[str, ...]:
    """The same for a step, as far as its text shows."""
    return steering_of(_words(verb), verb.script) if isinstance(verb, Command) else ()


def _words(verb: Command) -> list[str]:
    return [word for word in verb.argv if isinstance(word, str)]


def _runner(verb: Command) -> str | None:
    return runner_of(_words(verb), verb.script)


def _name(verb: Command) -> str:
    runner = _runner(verb)
    return runner if runner not in (None, MIXED) else "tests" if verb.junit is None else "junit"


def _steps(
    workflow: Workflow, at: Address, around: tuple[Step, ...]
) -> Iterator[tuple[Address, Step, tuple[Step, ...]]]:
    """Every step with its address and the steps around it."""
    for step in top_steps(workflow):
        yield from _steps_in(step, addresses.child(at, step.name), around)


def _steps_in(
    step: Step, at: Address, around: tuple[Step, ...]
) -> Iterator[tuple[Address, Step, tuple[Step, ...]]]:
    yield at, step, around
    outer = (step, *around)
    if isinstance(step.verb, Call):
        yield from _steps(step.verb.workflow, at, outer)
    for inner in inner_steps(step):
        is_body = isinstance(step.verb, ForEach | Repeat) and inner is not step.gates
        name = addresses.gates(at) if inner is step.gates else addresses.child(at, inner.name)
        yield from _steps_in(inner, at if is_body else name, outer)

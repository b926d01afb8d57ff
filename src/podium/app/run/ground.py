"""What a workflow needs of the place where it is started, and what that place cannot give; told before a run exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.app.run.preflight import inner_steps, top_steps
from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import chain_of
from podium.core.model import Agent, Call, Command, Git, Step, Workflow
from podium.errors import ConfigurationError

BRANCH: Final = ("run", "branch")
EVERYTHING: Final = "**"


def check_branch(workflow: Workflow, branch: str) -> None:
    """Raises ConfigurationError for a step that lands on the branch of the run where none is checked out."""
    for step in () if branch else _all(top_steps(workflow), sure=True):
        if isinstance(step.verb, Git) and _is_of_run(step.verb):
            raise ConfigurationError(
                f'"{step.name}" lands on run.branch, and no branch is checked out',
                hint="git switch BRANCH, or git switch -c NEW, then start it again",
            )


def unheld(workflow: Workflow) -> tuple[str, ...]:
    """The steps that nobody can hold to their `touches` outside of git, where no change is seen."""
    return tuple(dict.fromkeys(step.name for step in _all(top_steps(workflow)) if _is_bound(step)))


def _is_bound(step: Step) -> bool:
    if step.touches is None or step.touches == (EVERYTHING,):
        return False
    if isinstance(step.verb, Command):
        # None of its changes are kept, which has to do with trees, and is nothing that was asked of it.
        return step.touches != ()
    return isinstance(step.verb, Agent) and not step.verb.judge and not step.verb.by_hand


def _is_of_run(verb: Git) -> bool:
    return isinstance(verb.land, Node) and chain_of(verb.land) == BRANCH


def _all(steps: tuple[Step, ...], *, sure: bool = False) -> Iterator[Step]:
    """These steps and all in them, those of workflows that are called included; `sure`: only what no `when` may skip."""
    for step in steps:
        if sure and step.when is not None:
            continue
        yield step
        called = top_steps(step.verb.workflow) if isinstance(step.verb, Call) else ()
        yield from _all((*called, *inner_steps(step)), sure=sure)

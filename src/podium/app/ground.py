"""What a workflow needs of the place where it is started, and what that place cannot give; told before a run exists."""

from __future__ import annotations

from collections.abc import Iterator

from podium.app.ability import inner_steps, top_steps
from podium.core.expr import Node
from podium.core.model import Call, Git, Step, Workflow
from podium.core.template import chain_of
from podium.errors import ConfigurationError

BRANCH = ("run", "branch")


def check_branch(workflow: Workflow, branch: str) -> None:
    """Raises ConfigurationError for a step that lands on the branch of the run where none is checked out."""
    for step in () if branch else _all(top_steps(workflow)):
        if isinstance(step.verb, Git) and _is_of_run(step.verb) and step.when is None:
            raise ConfigurationError(
                f'"{step.name}" lands on run.branch, and no branch is checked out',
                hint="git switch BRANCH, or git switch -c NEW, then start it again",
            )


def _is_of_run(verb: Git) -> bool:
    return isinstance(verb.land, Node) and chain_of(verb.land) == BRANCH


def _all(steps: tuple[Step, ...]) -> Iterator[Step]:
    """These steps and all in them, those of workflows that are called included; not what may be skipped."""
    for step in steps:
        yield step
        if step.when is None:
            called = top_steps(step.verb.workflow) if isinstance(step.verb, Call) else ()
            yield from _all((*called, *inner_steps(step)))

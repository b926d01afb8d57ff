"""Who works: the roles and agents that `role`, `agent` and `review` name, one by one."""

from __future__ import annotations

from collections.abc import Iterable

from podium.core.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import BASE_REVIEWER
from podium.workflow.schema.file import Role
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Step, StepOrGate


@dataclass(frozen=True, slots=True)
class Worker:
    """`name` is that of the member; `known_role` is None where only the run will tell which it is."""

    name: str
    role: str | None
    agent: str | None
    known_role: Role | None = None


def workers_of(context: WorkflowSource, step: Step) -> tuple[Worker, ...]:
    """Those of an agent step: one, unless a list stands under `role` or `agent`."""
    if isinstance(step.agent, tuple):
        role = step.role if isinstance(step.role, str) else None
        return _all(context, [(agent, role, agent) for agent in step.agent])
    if isinstance(step.role, tuple):
        return _all(context, [(role, role, step.agent) for role in step.role])
    return _all(context, [(step.role or step.agent or "", step.role, step.agent)])


def reviewers_of(context: WorkflowSource, step: StepOrGate) -> tuple[Worker, ...]:
    """Those of a review; an agent's name means the base reviewer played by it."""
    names = (step.review,) if isinstance(step.review, str) else step.review or ()
    return _all(context, [_reviewer(context, name) for name in names])


def _reviewer(context: WorkflowSource, name: str) -> tuple[str, str, str | None]:
    if context.role(name) is None and context.is_agent(name):
        return name, BASE_REVIEWER, name
    return name, name, None


def _all(context: WorkflowSource, found: Iterable[tuple[str, str | None, str | None]]) -> tuple[Worker, ...]:
    """With the role's own agent where the step names none."""
    workers: list[Worker] = []
    taken: set[str] = set()
    for wanted, role_name, agent in found:
        role = context.role(role_name) if role_name is not None else None
        chosen = agent or (role.agent if role is not None else None)
        name = unique("member" if INSERT in wanted else wanted, taken)
        workers.append(Worker(name, role_name, chosen, role))
    return tuple(workers)


def unique(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that nobody has; it is taken from then on."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found

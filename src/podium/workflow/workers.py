"""The roles and agents that `role`, `agent` and `review` name, as separate workers."""

from __future__ import annotations

from collections.abc import Iterable

from podium.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import BASE_REVIEWER
from podium.workflow.schema.file import Role
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Step, StepOrGate


@dataclass(frozen=True, slots=True)
class Worker:
    """`name` is that of the member; `known_role` is None if the role is known only at run time."""

    name: str
    role: str | None
    agent: str | None
    known_role: Role | None = None


def workers_of(context: WorkflowSource, step: Step) -> tuple[Worker, ...]:
    """The workers of an agent step: one, unless `role` or `agent` is a list; for a panel, the pattern of its members."""
    if isinstance(step.agent, tuple):
        role = step.role if isinstance(step.role, str) else None
        return _make_workers(context, [(agent, role, agent) for agent in step.agent])
    if isinstance(step.role, tuple):
        return _make_workers(context, [(role, role, step.agent) for role in step.role])
    return _make_workers(context, [(step.role or step.agent or "", step.role, step.agent)])


def reviewers_of(context: WorkflowSource, step: StepOrGate) -> tuple[Worker, ...]:
    """The workers of a review; the name of an agent means the base reviewer with that agent."""
    if isinstance(step, Step) and step.panel_key == "review":
        return _make_workers(context, [("member", BASE_REVIEWER, str(step.review))])
    names = (step.review,) if isinstance(step.review, str) else step.review or ()
    return _make_workers(context, [_reviewer(context, name) for name in names])


def _reviewer(context: WorkflowSource, name: str) -> tuple[str, str, str | None]:
    if context.role(name) is None and context.is_agent(name):
        return name, BASE_REVIEWER, name
    return name, name, None


def _make_workers(
    context: WorkflowSource, entries: Iterable[tuple[str, str | None, str | None]]
) -> tuple[Worker, ...]:
    """Workers with the role's own agent where the step names none."""
    workers: list[Worker] = []
    names: set[str] = set()
    for label, role_name, agent in entries:
        role = context.role(role_name) if role_name is not None else None
        resolved_agent = agent or (role.agent if role is not None else None)
        name = unique_name("member" if INSERT in label else label, names)
        workers.append(Worker(name, role_name, resolved_agent, role))
    return tuple(workers)


def unique_name(name: str, names: set[str]) -> str:
    """The name itself, or the name with the first free number; it is added to `names`."""
    candidate, number = name, 2
    while candidate in names:
        candidate, number = f"{name}_{number}", number + 1
    names.add(candidate)
    return candidate

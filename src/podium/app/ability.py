"""What a workflow asks for that this Podium cannot do yet; said by name before a run exists, never found out half-way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.graph import children_of
from podium.core.model import (
    Agent,
    Block,
    Call,
    ForEach,
    Gates,
    Git,
    Human,
    Members,
    Repeat,
    Review,
    Step,
    Verb,
    Workflow,
)
from podium.ports import Agents

WALLS: Final = ("bubblewrap", "container")
LOOKED_FOR: Final = ("file", "commit", "step", "timer")
"""What can tell that a person's work is done."""


def missing(workflow: Workflow, agents: Agents, *, sandbox: str | None = None) -> tuple[str, ...]:
    """One line per thing; empty if all of it can be carried out. `sandbox` is a level the user typed for this run."""
    return tuple(dict.fromkeys(_in_workflow(workflow, agents, sandbox)))


def _in_workflow(workflow: Workflow, agents: Agents, sandbox: str | None) -> Iterator[str]:
    steps = [*workflow.body.steps, *([workflow.finally_] if workflow.finally_ is not None else [])]
    if workflow.advisor is not None:
        steps.append(workflow.advisor)
    for step in steps:
        yield from _in_step(step, workflow, agents, sandbox)


def _in_step(step: Step, workflow: Workflow, agents: Agents, sandbox: str | None) -> Iterator[str]:
    verb = step.verb
    named = f'step "{step.name}"' + (f" (line {step.line})" if step.line else "")
    match verb:
        case Agent():
            yield from (f"{named}: {what}" for what in _of_agent(verb, workflow.config, agents))
        case Git() if step.gates is not None and _asks(step.gates):
            yield f"{named}: reviews and people as gates of git; put them into a step before it"
        case Call():
            yield from _in_workflow(verb.workflow, agents, sandbox)
        case _:
            pass
    level = dict(step.settings.get("sandbox") or {}).get("level")
    if level in WALLS and sandbox is None:
        yield f"{named}: sandbox {level}; --sandbox limits runs it with weaker walls"
    if step.gates is not None:
        yield from _in_step(step.gates, workflow, agents, sandbox)
    for child in _children(verb):
        yield from _in_step(child, workflow, agents, sandbox)


def _children(verb: Verb) -> tuple[Step, ...]:
    match verb:
        case ForEach() | Repeat():
            return (verb.body,)
        case Block() | Members() | Review() | Gates():
            return children_of(verb)
        case _:
            return ()


def _asks(gates: Step) -> bool:
    return isinstance(gates.verb, Gates) and any(
        isinstance(gate.verb, Review | Human) for gate in gates.verb.members
    )


def _of_agent(verb: Agent, config: Mapping[str, Any], agents: Agents) -> Iterator[str]:
    if verb.continuity:
        yield "continuity"
    if verb.team:
        yield "team"
    if verb.done is not None and verb.done.what not in LOOKED_FOR:
        yield f"done: {verb.done.what}; use {', '.join(LOOKED_FOR)}"
    if verb.by_hand:
        return
    names = [name for name in (verb.agent, *verb.fallback) if isinstance(name, str) and name != "auto"]
    if not names and verb.agent is None:
        yield f"no agent is named, and the usual ones are not there yet; there are {', '.join(sorted(agents))}"
    kinds = {name: str((config.get("agents") or {}).get(name, {}).get("type") or name) for name in names}
    if names and not any(kind in agents for kind in kinds.values()):
        yield f'agent "{names[0]}" of type "{kinds[names[0]]}"; there are {", ".join(sorted(agents))}'

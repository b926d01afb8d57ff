"""What a workflow asks for that this Podium cannot do yet; said by name before a run exists, never found out half-way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from podium.attempt.programs import PROGRAMS, usual_agent, wanting
from podium.core.graph import children_of
from podium.core.model import (
    Agent,
    Block,
    Call,
    ForEach,
    Gates,
    Members,
    Repeat,
    Review,
    Step,
    Verb,
    Workflow,
)
from podium.ports import Agents
from podium.workflow.capabilities import CAPABILITIES

WALLS: Final = ("bubblewrap", "container")
WEAK: Final = ("none", "limits")
"""Levels that are there, and that a user may have typed knowing what they do not hold back."""
LOOKED_FOR: Final = ("file", "commit", "step", "timer")
"""What can tell that a person's work is done."""


def missing(workflow: Workflow, agents: Agents, *, sandbox: str | None = None) -> tuple[str, ...]:
    """One line per thing; empty if all of it can be carried out. `sandbox` is a level the user typed for this run."""
    return tuple(dict.fromkeys(_in_workflow(workflow, agents, sandbox)))


def unready(workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> tuple[str, ...]:
    """One line per step that none of its agents could do, for want of a key or a login; `env` is the user's."""
    return tuple(
        dict.fromkeys(line for step in _top(workflow) for line in _unready(step, workflow, agents, env))
    )


def _unready(step: Step, workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> Iterator[str]:
    if isinstance(step.verb, Call):
        yield from unready(step.verb.workflow, agents, env)
    if isinstance(step.verb, Agent) and not step.verb.by_hand:
        kinds = _likely(step.verb, workflow.config, agents, env)
        known = workflow.config.get("agents") or {}
        wants = [wanting(kind, agents[kind], known.get(name, {}), env) for name, kind in kinds.items()]
        if wants and all(wants):
            yield f"{_named(step)}: {next(iter(kinds))}: {wants[0]}"
    for child in (*_children(step.verb), *([step.gates] if step.gates is not None else [])):
        yield from _unready(child, workflow, agents, env)


def agents_of(workflow: Workflow) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The configured agents of a workflow and of those it calls, each with its type."""
    for name, config in (workflow.config.get("agents") or {}).items():
        yield str(config.get("type") or name), config
    for step in _top(workflow):
        yield from _agents_below(step)


def _agents_below(step: Step) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(step.verb, Call):
        yield from agents_of(step.verb.workflow)
    for child in (*_children(step.verb), *([step.gates] if step.gates is not None else [])):
        yield from _agents_below(child)


def _in_workflow(workflow: Workflow, agents: Agents, sandbox: str | None) -> Iterator[str]:
    for step in _top(workflow):
        yield from _in_step(step, workflow, agents, sandbox)


def _top(workflow: Workflow) -> tuple[Step, ...]:
    others = (workflow.finally_, workflow.advisor)
    return (*workflow.body.steps, *(step for step in others if step is not None))


def _in_step(step: Step, workflow: Workflow, agents: Agents, sandbox: str | None) -> Iterator[str]:
    verb = step.verb
    named = _named(step)
    match verb:
        case Agent():
            yield from (f"{named}: {what}" for what in _of_agent(verb, workflow.config, agents))
            if sandbox not in WEAK:
                yield from (f"{named}: {what}" for what in _unwalled(verb, workflow.config, agents))
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


def _named(step: Step) -> str:
    return f'step "{step.name}"' + (f" (line {step.line})" if step.line else "")


def _children(verb: Verb) -> tuple[Step, ...]:
    match verb:
        case ForEach() | Repeat():
            return (verb.body,)
        case Block() | Members() | Review() | Gates():
            return children_of(verb)
        case _:
            return ()


def _of_agent(verb: Agent, config: Mapping[str, Any], agents: Agents) -> Iterator[str]:
    if verb.continuity:
        yield "continuity"
    if verb.team:
        yield "team"
    if verb.done is not None and verb.done.what not in LOOKED_FOR:
        yield f"done: {verb.done.what}; use {', '.join(LOOKED_FOR)}"
    if verb.by_hand:
        return
    kinds = _kinds(verb, config)
    if not kinds and verb.agent is None and not any(usual in agents for usual in PROGRAMS):
        yield f"no agent is named, and the usual ones are not there yet; there are {', '.join(sorted(agents))}"
    if kinds and not any(kind in agents for kind in kinds.values()):
        name, kind = next(iter(kinds.items()))
        yield f'agent "{name}" of type "{kind}"; there are {", ".join(sorted(agents))}'


def _unwalled(verb: Agent, config: Mapping[str, Any], agents: Agents) -> Iterator[str]:
    """Programs that a model steers, and that nothing here can keep from the user's files."""
    if verb.by_hand:
        return
    for kind in dict.fromkeys(_likely(verb, config, agents, {}).values()):
        able = CAPABILITIES.get(kind)
        if able is not None and able.needs in WALLS:
            yield (
                f"{kind} needs {able.needs}, which is not there yet; --sandbox limits runs it with weaker walls, "
                "at your risk"
            )


def _likely(verb: Agent, config: Mapping[str, Any], agents: Agents, env: Mapping[str, str]) -> dict[str, str]:
    """By name, the types of those that may work: the ones that a step names, or the usual one for a role without."""
    usual = usual_agent(agents, config.get("agents") or {}, env)
    # A role that only the run names may bring an agent of its own.
    is_open = verb.agent is None and (verb.role is None or isinstance(verb.role, str))
    kinds = {**(_types([usual], config) if is_open and usual is not None else {}), **_kinds(verb, config)}
    return {name: kind for name, kind in kinds.items() if kind in agents}


def _kinds(verb: Agent, config: Mapping[str, Any]) -> dict[str, str]:
    """The types of the agents that a step names, as far as the file tells."""
    names = [name for name in (verb.agent, *verb.fallback) if isinstance(name, str) and name != "auto"]
    return _types(names, config)


def _types(names: Iterable[str], config: Mapping[str, Any]) -> dict[str, str]:
    return {name: str((config.get("agents") or {}).get(name, {}).get("type") or name) for name in names}

"""Settings of a states-format file besides its states: agents, personas, orchestrator, breaker, limits, logging."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.states import keys
from podium.workflow.dialects.states.agents import agent_name, is_own_program, native_agents, program_of
from podium.workflow.dialects.states.states import States, kind_of, role_name
from podium.workflow.dialects.translation import Translation, name_of, new_node, seconds
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, items, text

CAPTURED: Final = {
    "prompts": "prompts",
    "input_content": "inputs",
    "output_content": "outputs",
    "stdout_stream": "stdout",
    "reasoning": "reasoning",
}
CHECKPOINTS: Final[Mapping[str, tuple[str, Any]]] = {
    "quality_gate_disagree": ("disagree", 3),
    "repeated_retry": ("retries", 2),
    "timeout_warning": ("near", "80%"),
    "workflow_complete": ("complete", True),
}
RULES: Final = {
    "state_visit_limit": "visits",
    "cycle_detection": "cycle",
    "transition_limit": "transitions",
    "timeout": "time",
    "cost_limit": "usd",
}
HARD: Final = {"max_transitions_hard": "transitions", "max_runtime_hard": "time", "max_cost_hard": "usd"}


def settings(root: Node, translation: Translation, states: States | None = None) -> dict[str, Any]:
    entries = fields(root)
    keys.check_settings(root, translation)
    breaker = entries.get("circuit_breaker")
    limits = entries.get("safety_limits", fields(breaker).get("safety_limits"))
    parallel = fields(entries.get("settings")).get("parallel_fanout")
    return {
        "agents": native_agents(entries.get("agents"), translation) or None,
        "roles": _roles(root, states) or None,
        "limits": _limits(limits, translation),
        "breaker": _breaker(root, translation) or None,
        "max_parallel": 1 if parallel is not None and parallel.value is False else None,
        "record": _record(entries.get("logging")),
    }


def _roles(root: Node, states: States | None) -> dict[str, Any]:
    entries = fields(root)
    roles: dict[str, Any] = {
        name_of(name): new_node({"system": file, "touches": []}, file)
        for name, file in fields(entries.get("personas")).items()
    }
    roles |= _persona_files(states, roles)
    judges = _judges(states)
    for name, agent in fields(entries.get("agents")).items():
        persona = fields(agent).get("persona")
        if persona is not None:
            base: dict[str, Any] = {"extends": "reviewer"} if name in judges else {"touches": []}
            caller = agent_name(name, agent) if is_own_program(agent) else program_of(agent)
            roles[name_of(name)] = new_node({**base, "agent": caller, "system": persona}, agent)
    return {**roles, **_orchestrator(root, roles, states)}


def _persona_files(states: States | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Roles for states that name the file of their persona."""
    files = [fields(state).get("persona") for state in (states.work.values() if states else ())]
    return {
        name: new_node({"system": file, "touches": []}, file)
        for file in files
        if file is not None
        and is_prompt_file(text(file) or "")
        and (name := role_name(str(file.value))) not in named
    }


def _judges(states: States | None) -> set[str]:
    """The agents that judge; a configuration has no states, so there every agent with a persona is a judge."""
    if states is None:
        return set()
    gates = [state for state in states.work.values() if kind_of(state) == "gate"]
    return {str(agent.value) for state in gates if (agent := fields(state).get("agent")) is not None}


def _orchestrator(root: Node, roles: Mapping[str, Any], states: States | None) -> dict[str, Any]:
    """The orchestrator, and roles for the personas of its tasks, all run by the orchestrator's agent."""
    entries = fields(root)
    node = entries.get("orchestrator")
    tasks = [
        state for state in (states.work.values() if states else ()) if text(fields(state).get("type")) == TASK
    ]
    personas = [persona for state in tasks if (persona := fields(state).get("persona")) is not None]
    agent = fields(node).get("agent", "claude")
    session = fields(node).get("session")
    base: dict[str, Any] = {"agent": agent, "touches": [], "continuity": _continuity(session)}
    roles_of_orchestrator: dict[str, Any] = {}
    if node is not None:
        system = fields(node).get("persona", fields(roles.get("orchestrator")).get("system"))
        roles_of_orchestrator["orchestrator"] = new_node({"agent": agent, "system": system, **base}, node)
    for persona in personas:
        name = role_name(str(persona.value))
        # A persona that is not defined is left for the reader to report.
        if name in roles and name not in roles_of_orchestrator:
            roles_of_orchestrator[name] = new_node(
                {"system": fields(roles[name]).get("system"), **base}, node or persona
            )
    return roles_of_orchestrator


def _continuity(session: Node | None) -> Node | None:
    """A conversation that is continued; the format sets no number of turns, so it is as long as its file sessions."""
    enabled = fields(session).get("enabled")
    if enabled is None or enabled.value is not True:
        return None
    return new_node({"turns": MAX_TURNS}, enabled)


TASK: Final = "orchestrator-task"
MAX_TURNS: Final = 50


def _limits(node: Node | None, translation: Translation) -> Any:
    if node is None:
        return None
    translation.check_part(node, "safety_limits", keys.HARD)
    return {
        HARD[key]: seconds(value) if "runtime" in key else value
        for key, value in fields(node).items()
        if key in HARD
    }


def _breaker(root: Node, translation: Translation) -> dict[str, Any]:
    entries = fields(root)
    breaker: dict[str, Any] = {}
    for rule in items(fields(entries.get("circuit_breaker")).get("rules")):
        name = text(fields(rule).get("name")) or ""
        if name not in RULES:
            translation.add_problem(
                rule, 3, f'the breaker has no rule "{name}"', f"use one of {', '.join(RULES)}"
            )
            continue
        breaker[RULES[name]] = _threshold(name, rule, translation)
    node = entries.get("orchestrator")
    for checkpoint in items(fields(node).get("checkpoints")):
        word = text(fields(checkpoint).get("on")) or ""
        if word in CHECKPOINTS:
            key, value = CHECKPOINTS[word]
            breaker[key] = new_node(value, checkpoint)
        elif word != "loop_warning":
            translation.add_problem(
                checkpoint, 3, f'checkpoint "{word}" does not exist', f"use one of {', '.join(CHECKPOINTS)}"
            )
    if node is not None and (breaker or "checkpoints" in fields(node)):
        breaker["ask"] = new_node("orchestrator", node)
    return breaker


def _threshold(name: str, rule: Node, translation: Translation) -> Node:
    """The number in the condition; `>= 3` visits allow 2, and a cycle is detected in its second round."""
    condition = fields(rule).get("condition", rule)
    numbers = re.findall(r">(=?)\s*([0-9]+(?:\.[0-9]+)?)", str(condition.value))
    if not numbers and name != "cycle_detection":
        translation.add_problem(condition, 2, f'the condition of "{name}" has no number', "write: ... >= 3")
    inclusive, threshold = numbers[-1] if numbers else ("", "1")
    number = float(threshold)
    match name:
        case "state_visit_limit":
            return new_node(max(1, int(number) - 1 if inclusive else int(number)), condition)
        case "cycle_detection":
            return new_node(2, condition)
        case "timeout":
            return new_node(seconds(new_node(int(number), condition)), condition)
        case "cost_limit":
            return new_node(int(number) if number == int(number) else number, condition)
        case _:
            return new_node(int(number), condition)


def _record(node: Node | None) -> Any:
    if node is None:
        return None
    entries = fields(node)
    days = entries.get("retention_days")
    record = {
        CAPTURED[key]: value for key, value in fields(entries.get("capture")).items() if key in CAPTURED
    }
    return {**record, "keep": None if days is None else new_node(f"{days.value}d", days)}

"""What a file of states sets besides its states: agents, personas, the orchestrator, breaker, limits, logging."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.states.known_keys import check_parts
from podium.workflow.dialects.states.states import States, is_gate, role_name
from podium.workflow.dialects.translation import Translation, name_of, new_node, seconds
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, items, text

SETTINGS: Final = (
    "orchestrator",
    "agents",
    "personas",
    "circuit_breaker",
    "safety_limits",
    "logging",
    "settings",
)
PROGRAMS: Final = ("claude", "gemini", "codex")
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


def settings(root: Node, page: Translation, states: States | None = None) -> dict[str, Any]:
    said = fields(root)
    check_parts(root, page)
    breaker = said.get("circuit_breaker")
    limits = said.get("safety_limits", fields(breaker).get("safety_limits"))
    wide = fields(said.get("settings")).get("parallel_fanout")
    return {
        "agents": _agents(said.get("agents"), page) or None,
        "roles": _roles(root, states, page) or None,
        "limits": _limits(limits, page),
        "breaker": _breaker(root, page) or None,
        "max_parallel": 1 if wide is not None and wide.value is False else None,
        "record": _record(said.get("logging"), page),
    }


def _agents(node: Node | None, page: Translation) -> dict[str, Any]:
    return {
        name_of(name): _agent(agent, page)
        for name, agent in fields(node).items()
        if "persona" not in fields(agent)
    }


def _agent(agent: Node, page: Translation) -> Node:
    said = fields(agent)
    program = _program(said.get("command"))
    kind = text(said.get("type"))
    native: dict[str, Any] = {"type": "ollama" if kind == "ollama" else program or "command"}
    if kind != "ollama" and program is None and "command" in said:
        words = shlex.split(str(said["command"].value))
        native["command"] = new_node([word for word in words if word != "{prompt}"], said["command"])
    if "resume_command" in said:
        page.note(said["resume_command"], "how a conversation is resumed is known by the agent's type")
    return new_node(
        {
            **native,
            "enabled": said.get("enabled"),
            "context_window": said.get("context_window"),
            "price": _price(said.get("cost_per_1k")),
            "tiers": _tiers(said.get("model_tiers")),
        },
        agent,
    )


def _program(command: Node | None) -> str | None:
    words = (text(command) or "").split()
    return words[0] if words and words[0] in PROGRAMS else None


def _price(node: Node | None) -> Any:
    """Per million, where the file says it per thousand."""
    if node is None:
        return None
    return {key: new_node(_times(value.value), value) for key, value in fields(node).items()}


def _times(value: object) -> Any:
    if not isinstance(value, int | float):
        return value
    dear = round(value * 1000, 6)
    return int(dear) if dear == int(dear) else dear


def _tiers(node: Node | None) -> Any:
    tiers = {}
    for name, tier in fields(node).items():
        said = fields(tier)
        tiers[name_of(name)] = new_node(
            {
                "vram": said.get("vram_range"),
                **fields(said.get("recommended")),
                "fallback": said.get("fallback"),
                "context": said.get("max_context_tokens"),
            },
            tier,
        )
    return tiers or None


def _roles(root: Node, states: States | None, page: Translation) -> dict[str, Any]:
    said = fields(root)
    roles: dict[str, Any] = {
        name_of(name): new_node({"system": file, "touches": []}, file)
        for name, file in fields(said.get("personas")).items()
    }
    roles |= _persona_files(states, roles)
    judges = _judges(states)
    for name, agent in fields(said.get("agents")).items():
        persona = fields(agent).get("persona")
        if persona is not None:
            base: dict[str, Any] = {"extends": "reviewer"} if name in judges else {"touches": []}
            plays = _program(fields(agent).get("command"))
            roles[name_of(name)] = new_node({**base, "agent": plays, "system": persona}, agent)
    return {**roles, **_orchestrator(root, roles, states, page)}


def _persona_files(states: States | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """A state may also name the file of its persona."""
    wanted = [fields(state).get("persona") for state in (states.work.values() if states else ())]
    return {
        name: new_node({"system": file, "touches": []}, file)
        for file in wanted
        if file is not None
        and is_prompt_file(text(file) or "")
        and (name := role_name(str(file.value))) not in named
    }


def _judges(states: States | None) -> set[str]:
    """In a part of a file, which has no states, an agent with a persona is a judge."""
    if states is None:
        return set()
    gates = [state for state in states.work.values() if is_gate(state)]
    return {str(agent.value) for state in gates if (agent := fields(state).get("agent")) is not None}


def _orchestrator(
    root: Node, roles: Mapping[str, Any], states: States | None, page: Translation
) -> dict[str, Any]:
    """The orchestrator, and the personas of its tasks, which its agent plays."""
    said = fields(root)
    node = said.get("orchestrator")
    tasks = [
        state for state in (states.work.values() if states else ()) if text(fields(state).get("type")) == TASK
    ]
    personas = [persona for state in tasks if (persona := fields(state).get("persona")) is not None]
    agent = fields(node).get("agent", "claude")
    session = fields(node).get("session")
    if session is not None:
        page.note(session, "every task is told what it needs in its prompt; no conversation has to go on")
    voice: dict[str, Any] = {"agent": agent, "touches": []}
    found: dict[str, Any] = {}
    if node is not None:
        system = fields(node).get("persona", fields(roles.get("orchestrator")).get("system"))
        found["orchestrator"] = new_node({"agent": agent, "system": system, **voice}, node)
    for persona in personas:
        name = role_name(str(persona.value))
        # One that nobody has is left for the reader to miss.
        if name in roles and name not in found:
            found[name] = new_node({"system": fields(roles[name]).get("system"), **voice}, node or persona)
    return found


TASK: Final = "orchestrator-task"


def _limits(node: Node | None, page: Translation) -> Any:
    if node is None:
        return None
    page.check_keys(node, "safety_limits", HARD)
    return {
        HARD[key]: seconds(value) if "runtime" in key else value
        for key, value in fields(node).items()
        if key in HARD
    }


def _breaker(root: Node, page: Translation) -> dict[str, Any]:
    said = fields(root)
    found: dict[str, Any] = {}
    for rule in items(fields(said.get("circuit_breaker")).get("rules")):
        name = text(fields(rule).get("name")) or ""
        if name not in RULES:
            page.complain(rule, 3, f'the breaker has no rule "{name}"', f"it has {', '.join(RULES)}")
            continue
        found[RULES[name]] = _threshold(name, rule, page)
    node = said.get("orchestrator")
    for point in items(fields(node).get("checkpoints")):
        word = text(fields(point).get("on")) or ""
        if word in CHECKPOINTS:
            key, value = CHECKPOINTS[word]
            found[key] = new_node(value, point)
        elif word != "loop_warning":
            page.complain(point, 3, f'there is no checkpoint "{word}"', f"there are {', '.join(CHECKPOINTS)}")
    if node is not None and (found or "checkpoints" in fields(node)):
        found["ask"] = new_node("orchestrator", node)
    return found


def _threshold(name: str, rule: Node, page: Translation) -> Node:
    """The number in the condition. `>= 3` visits are one more than may happen; a cycle is seen in its second round."""
    condition = fields(rule).get("condition", rule)
    numbers = re.findall(r">(=?)\s*([0-9]+(?:\.[0-9]+)?)", str(condition.value))
    if not numbers and name != "cycle_detection":
        page.complain(condition, 2, f'the condition of "{name}" has no number to reach', "write: ... >= 3")
    reached, written = numbers[-1] if numbers else ("", "1")
    number = float(written)
    match name:
        case "state_visit_limit":
            return new_node(max(1, int(number) - 1 if reached else int(number)), condition)
        case "cycle_detection":
            return new_node(2, condition)
        case "timeout":
            return new_node(seconds(new_node(int(number), condition)), condition)
        case "cost_limit":
            return new_node(int(number) if number == int(number) else number, condition)
        case _:
            return new_node(int(number), condition)


def _record(node: Node | None, page: Translation) -> Any:
    if node is None:
        return None
    said = fields(node)
    days = said.get("retention_days")
    for key, why in (
        ("runs_dir", "runs lie in .podium/runs"),
        ("run_id_format", "a run is named by its time"),
    ):
        if key in said:
            page.note(said[key], f"{key} has no native form: {why}")
    kept = {CAPTURED[key]: value for key, value in fields(said.get("capture")).items() if key in CAPTURED}
    return {**kept, "keep": None if days is None else new_node(f"{days.value}d", days)}

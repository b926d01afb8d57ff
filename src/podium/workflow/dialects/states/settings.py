"""Settings of a states-format file besides its states: agents, personas, orchestrator, breaker, limits, logging."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.states import keys
from podium.workflow.dialects.states.agents import native_agents
from podium.workflow.dialects.states.file_flow import FileFlow
from podium.workflow.dialects.states.roles import can_resume, orchestrators_agent, roles_of
from podium.workflow.dialects.translation import Translation, new_node, seconds, without_rules
from podium.workflow.source.nodes import Node, fields, items, text

CAPTURED: Final = {
    "prompts": "prompts",
    "input_content": "inputs",
    "output_content": "outputs",
    "stdout_stream": "stdout",
    "reasoning": "reasoning",
}
CHECKPOINTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "loop_warning": {},
    "quality_gate_disagree": {"disagree": 3},
    "repeated_retry": {"retries": 2, "sent_back": 2},
    "timeout_warning": {"near": "80%"},
    "workflow_complete": {"complete": True},
}
"""The rules of the breaker for each checkpoint; a loop is warned about by the rules of the circuit breaker."""
RULES: Final = {
    "state_visit_limit": "visits",
    "cycle_detection": "cycle",
    "transition_limit": "transitions",
    "timeout": "time",
    "cost_limit": "usd",
}
_NUMBER: Final = r"\s*>(?P<inclusive>=?)\s*(?P<number>[0-9]+(?:\.[0-9]+)?)"
CONDITIONS: Final[Mapping[str, tuple[str, str]]] = {
    "state_visit_limit": (r"state_visits\[state\]" + _NUMBER, "state_visits[state] >= 3"),
    "cycle_detection": (
        r"(?:\w+(?:\s*(?:→|->)\s*\w+)+ pattern )?(?P<inclusive>)in (?:the )?last (?P<number>[0-9]+) transitions",
        "A→B→A→B pattern in last 4 transitions",
    ),
    "transition_limit": (r"transition_count" + _NUMBER, "transition_count >= 20"),
    "timeout": (r"elapsed_s" + _NUMBER, "elapsed_s >= 1800"),
    "cost_limit": (r"total_cost_usd" + _NUMBER, "total_cost_usd >= 5.00"),
}
"""By the name of a rule: the form of its condition, and an example."""
SUMMARIES: Final = {
    "include_token_summary": "tokens",
    "include_scores": "scores",
    "include_previews": "previews",
}
HARD: Final = {"max_transitions_hard": "transitions", "max_runtime_hard": "time", "max_cost_hard": "usd"}


def settings(
    root: Node,
    translation: Translation,
    files: FileFlow | None = None,
) -> dict[str, Any]:
    entries = fields(root)
    keys.check_settings(root, translation)
    _check_orchestrator(entries, translation)
    breaker = entries.get("circuit_breaker")
    limits = entries.get("safety_limits", fields(breaker).get("safety_limits"))
    parallel = fields(entries.get("settings")).get("parallel_fanout")
    return {
        "agents": native_agents(entries.get("agents"), translation) or None,
        "roles": roles_of(root, files) or None,
        "limits": _limits(limits, translation),
        "breaker": _breaker(root, translation) or None,
        "max_parallel": 1 if parallel is not None and parallel.value is False else None,
        "record": _record(entries.get("logging")),
    }


def _check_orchestrator(entries: Mapping[str, Node], translation: Translation) -> None:
    named = fields(entries.get("personas")).get("orchestrator")
    own = fields(entries.get("orchestrator")).get("persona")
    if named is not None and own is not None and named.value != own.value:
        message = f'the orchestrator has two personas, "{own.value}" and "{named.value}"'
        translation.add_problem(named, 5, message, "remove one of the two")
    node = entries.get("orchestrator")
    name, agent = text(fields(node).get("agent")) or "", orchestrators_agent(entries)
    enabled = fields(fields(node).get("session")).get("enabled")
    if enabled is not None and enabled.value is True and not can_resume(agent):
        message = f'the session of the orchestrator needs a resume_command, and agent "{name}" has none'
        translation.add_problem(
            enabled, 4, message, f"add resume_command to agents.{name}, or remove session"
        )


def _limits(node: Node | None, translation: Translation) -> Any:
    if node is None:
        return None
    translation.check_part(node, "safety_limits", keys.HARD)
    limits: dict[str, Any] = {
        HARD[key]: seconds(value) if "runtime" in key else value
        for key, value in fields(node).items()
        if key in HARD
    }
    # As in this format, a call whose program tells no cost does not stop a run; `agents` warns about such programs.
    return {**limits, "unknown_cost": new_node("count_tokens", node)} if "usd" in limits else limits


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
    checkpoints = items(fields(node).get("checkpoints"))
    warns = any(text(fields(each).get("on")) == "loop_warning" for each in checkpoints)
    if breaker or "circuit_breaker" in entries or not warns:
        # Only the rules of the author apply, as in this format; one who wants warnings of loops without a rule gets ours.
        breaker = {**(without_rules(root) if breaker or "states" in entries else {}), **breaker}
    for checkpoint in checkpoints:
        word = text(fields(checkpoint).get("on")) or ""
        if word in CHECKPOINTS:
            breaker |= {key: new_node(value, checkpoint) for key, value in CHECKPOINTS[word].items()}
        else:
            translation.add_problem(
                checkpoint, 3, f'checkpoint "{word}" does not exist', f"use one of {', '.join(CHECKPOINTS)}"
            )
    if node is not None and (breaker or "checkpoints" in fields(node)):
        breaker["ask"] = new_node("orchestrator", node)
    return breaker


def _threshold(name: str, rule: Node, translation: Translation) -> Node:
    """The number in the condition; `>= 3` visits allow 2, and a cycle of two states fits twice into 4 transitions."""
    condition = fields(rule).get("condition", rule)
    if condition is rule and name == "cycle_detection":
        return new_node(2, rule)
    form, example = CONDITIONS[name]
    parts = re.fullmatch(form, str(condition.value).strip())
    if parts is None:
        message = f'the condition of "{name}" is not one that can be checked'
        translation.add_problem(condition, 2, message, f"write: {example}")
        return new_node(1, condition)
    inclusive, number = parts["inclusive"], float(parts["number"])
    match name:
        case "state_visit_limit":
            return new_node(max(1, int(number) - 1 if inclusive else int(number)), condition)
        case "cycle_detection":
            return new_node(max(1, int(number) // 2), condition)
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
    return {
        **record,
        "summary": _summary(entries.get("summaries")),
        "keep": None if days is None else new_node(f"{days.value}d", days),
        "link": _link(entries.get("runs_dir"), entries.get("run_id_format")),
    }


def _summary(node: Node | None) -> Any:
    entries = fields(node)
    markdown = entries.get("generate_markdown")
    if node is None or (markdown is not None and markdown.value is False):
        return None if node is None else new_node(False, node)
    return {native: entries[key] for key, native in SUMMARIES.items() if key in entries} or None


def _link(folder: Node | None, name: Node | None) -> Node | None:
    """The name of the run's folder in the project; without a format the run is named by its id."""
    if folder is None and name is None:
        return None
    path = posixpath.join(text(folder) or "runs", text(name) or "{run}")
    return new_node(path, folder or name)  # type: ignore[arg-type]  # one of them is there

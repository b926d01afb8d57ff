"""Roles of the states format: personas, agents that have one, and the orchestrator with its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.states.agents import agent_name, is_own_program, program_of
from podium.workflow.dialects.states.file_flow import FileFlow
from podium.workflow.dialects.states.states import States, role_name
from podium.workflow.dialects.translation import name_of, new_node
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, text

TASK: Final = "orchestrator-task"
MAX_TURNS: Final = 50
PERSONA: Final = "persona"
"""What all personas extend. A persona is therefore the author's alone, also if a shipped role has its name."""


def roles_of(root: Node, files: FileFlow | None) -> dict[str, Any]:
    entries = fields(root)
    states = None if files is None else files.states
    personas = fields(entries.get("personas"))
    roles: dict[str, Any] = {name_of(name): new_node(_persona(file), file) for name, file in personas.items()}
    roles |= _persona_files(states, roles)
    for name, agent in fields(entries.get("agents")).items():
        persona = fields(agent).get("persona")
        if persona is not None:
            caller = agent_name(name, agent) if is_own_program(agent) else program_of(agent)
            roles[name_of(name)] = new_node({"agent": caller, **_persona(persona)}, agent)
    roles |= _orchestrator(root, roles, states)
    if not any("system" in fields(role) for role in roles.values()):
        return roles
    words = files.placeholders() if files is not None else {}
    base = new_node({"placeholders": words or None, "touches": []}, root)
    return {PERSONA: base, **(roles if files is None else _with_words(roles, words, files))}


def _with_words(roles: dict[str, Any], words: Mapping[str, str], files: FileFlow) -> dict[str, Any]:
    """The roles with the words in braces that mean less to them, because they are used before all outputs are there."""
    for name, role in roles.items():
        first = files.states.first_use(name)
        meanings = files.placeholders(first) if "system" in fields(role) and first is not None else words
        fewer = {word: value for word, value in meanings.items() if value != words[word]}
        roles[name] = new_node({**fields(role), "placeholders": fewer}, role) if fewer else role
    return roles


def _persona(file: Node | None) -> dict[str, Any]:
    return {"touches": []} if file is None else {"extends": PERSONA, "system": file}


def _persona_files(states: States | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Roles for states that name the file of their persona."""
    files = [fields(state).get("persona") for state in (states.work.values() if states else ())]
    return {
        name: new_node(_persona(file), file)
        for file in files
        if file is not None
        and is_prompt_file(text(file) or "")
        and (name := role_name(str(file.value))) not in named
    }


def _orchestrator(root: Node, roles: Mapping[str, Any], states: States | None) -> dict[str, Any]:
    """The orchestrator, and roles for the personas of its tasks, all run by the orchestrator's agent."""
    node = fields(root).get("orchestrator")
    tasks = [
        state for state in (states.work.values() if states else ()) if text(fields(state).get("type")) == TASK
    ]
    personas = [persona for state in tasks if (persona := fields(state).get("persona")) is not None]
    base: dict[str, Any] = {
        "agent": fields(node).get("agent", "claude"),
        "continuity": _continuity(fields(node).get("session"), orchestrators_agent(fields(root))),
    }
    named: dict[str, Any] = {}
    if node is not None:
        persona = fields(node).get("persona", fields(roles.get("orchestrator")).get("system"))
        named["orchestrator"] = new_node({**base, **_persona(persona)}, node)
    for task_persona in personas:
        name = role_name(str(task_persona.value))
        # A persona that is not defined is left for the reader to report.
        if name in roles and name not in named:
            system = fields(roles[name]).get("system")
            named[name] = new_node({**base, **_persona(system)}, node or task_persona)
    return named


def orchestrators_agent(entries: Mapping[str, Node]) -> Node | None:
    """The agent of this file that the orchestrator is; None if it is one that Podium knows."""
    name = text(fields(entries.get("orchestrator")).get("agent"))
    return fields(entries.get("agents")).get(name or "")


def can_resume(agent: Node | None) -> bool:
    """A program of one's own continues a conversation only by its resume_command."""
    return agent is None or not is_own_program(agent) or "resume_command" in fields(agent)


def _continuity(session: Node | None, agent: Node | None) -> Node | None:
    """A conversation that is continued; the format sets no number of turns, so it is as long as its file sessions."""
    enabled = fields(session).get("enabled")
    if enabled is None or enabled.value is not True or not can_resume(agent):
        return None
    return new_node({"turns": MAX_TURNS}, enabled)

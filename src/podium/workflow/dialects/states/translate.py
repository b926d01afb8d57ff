"""The states format: a machine of states that fan out to agents, judge, ask people, and lead on by named transitions.

states:
  start: {type: initial, next: draft}
  draft:
    type: fan-out
    agents: [claude, gemini]
    persona: writer
    output: "drafts/{agent}_draft.md"
    transitions: {all_success: complete, partial_success: complete, all_failure: halt}
  complete: {type: terminal}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.states.file_flow import Files, files_of
from podium.workflow.dialects.states.settings import SETTINGS, TASK, settings
from podium.workflow.dialects.states.states import WORDS, States, is_gate, read_states
from podium.workflow.dialects.translation import Kind, Translation, new_node, seconds
from podium.workflow.source.nodes import Node, fields, items, text

KEYS: Final = (
    "type",
    "description",
    "agents",
    "agent",
    "persona",
    "input",
    "output",
    "prompt",
    "transitions",
    "on_enter",
)
TOP: Final = (*SETTINGS, "states", "name", "description", "version")


def translate(root: Node, kind: Kind, page: Translation) -> Node | None:
    said = fields(root)
    if kind == "workflow" and "states" in said and "steps" not in said:
        page.check_keys(root, "a file of states", TOP)
        return _file(root, page)
    if kind == "configuration" and "states" not in said and _is_setting(root):
        page.check_keys(root, "a configuration of states", SETTINGS)
        return new_node(settings(root, page), root)
    return None


def _is_setting(root: Node) -> bool:
    words = {"circuit_breaker", "safety_limits", "orchestrator", "personas"}
    of_cli = (
        text(fields(agent).get("type")) == "cli" for agent in fields(fields(root).get("agents")).values()
    )
    return bool(words & set(fields(root))) or any(of_cli)


def _file(root: Node, page: Translation) -> Node:
    said = fields(root)
    states = read_states(said["states"], said.get("agents"), page)
    files = files_of(states)
    steps = {
        states.names[name]: _step(name, state, states, files, root, page)
        for name, state in states.work.items()
    }
    file: dict[str, Any] = {
        "podium": 1,
        "name": said.get("name", "states"),
        "description": said.get("description"),
        "inputs": files.inputs or None,
        **settings(root, page, states),
        "steps": new_node(steps, said["states"]),
    }
    return new_node(file, root)


def _step(  # the state and all that is around it
    name: str, state: Node, states: States, files: Files, root: Node, page: Translation
) -> Node:
    said = fields(state)
    page.check_keys(state, f'state "{name}"', KEYS)
    # Without a prompt the description is the task.
    native: dict[str, Any] = {"description": said.get("description") if "prompt" in said else None}
    match text(said.get("type")):
        case "human-approval":
            native |= _approval(name, state, files)
        case "single" if is_gate(state):
            native |= _gate(name, state, states, files)
        case _:
            native |= _work(name, state, states, files)
            native |= _limits(root)
    native["on"] = _routes(name, state, states, page)
    return new_node(native, state)


def _work(name: str, state: Node, states: States, files: Files) -> dict[str, Any]:
    context = files.context(state)
    return {
        **_who(state, states),
        "context": context or None,
        "prompt": _prompt(name, state, files),
        "output": _output(state),
    }


def _who(state: Node, states: States) -> dict[str, Any]:
    said = fields(state)
    persona = states.role(said.get("persona"))
    if persona is None and text(said.get("type")) == TASK:
        return {"role": new_node("orchestrator", state)}
    agents = [
        new_node(states.agent(str(agent.value)), agent)
        for agent in items(said.get("agents", said.get("agent")))
    ]
    listed = new_node(agents, said["agents"]) if "agents" in said else (agents[0] if agents else None)
    if (
        persona is None
        and listed is not None
        and "agents" not in said
        and states.is_persona(str(listed.value))
    ):
        return {"role": listed, "touches": []}
    bare: dict[str, Any] = {"touches": []} if persona is None else {}
    return {"role": persona, "agent": listed, **bare}


def _prompt(name: str, state: Node, files: Files) -> str:
    said = fields(state)
    task = text(said.get("prompt")) or text(said.get("description")) or f"Do the work of the state {name}."
    return "\n".join([task.rstrip("\n"), *files.shown_to(state)])


def _output(state: Node) -> Any:
    """The file's name; which folder it lies in is known by the step."""
    file = fields(state).get("output")
    written = text(file)
    if file is None or written is None:
        return None
    schema = "Audit" if written.endswith(".json") else None
    return {
        "schema": schema,
        "file": new_node(written.rpartition("/")[2].replace("{agent}", "${{ member }}"), file),
    }


def _gate(name: str, state: Node, states: States, files: Files) -> dict[str, Any]:
    judge = fields(state).get("agent", state)
    of = files.makers(state) or states.before(name)
    return {
        "review": new_node(states.agent(str(judge.value)), judge),
        "of": of[0] if len(of) == 1 else of or None,
        "prompt": text(fields(state).get("prompt")),
    }


def _approval(name: str, state: Node, files: Files) -> dict[str, Any]:
    question = fields(state).get("prompt", f"May the run go on after {name}?")
    return {"human": question, "show": [*files.makers(state), "cost"]}


def _limits(root: Node) -> dict[str, Any]:
    said = fields(fields(root).get("settings"))
    tries = said.get("retry_count")
    return {
        "timeout": seconds(said.get("timeout_per_agent")),
        "retry": None if tries is None else {"transient": tries},
    }


def _routes(name: str, state: Node, states: States, page: Translation) -> dict[str, Any] | None:
    transitions = fields(state).get("transitions")
    words = _words(state)
    if transitions is not None:
        page.check_keys(transitions, f'transitions of "{name}"', words)
    found: dict[str, Any] = {}
    for word, node in fields(transitions).items():
        outcome = words.get(word)
        target = states.target(node, name)
        is_default = (outcome == "passed" and target == "next") or (outcome == "aborted" and target == "fail")
        if outcome is not None and not is_default:
            found[outcome] = new_node(target, node)
    return found or None


def _words(state: Node) -> Mapping[str, str]:
    kind = text(fields(state).get("type")) or ""
    return WORDS["gate"] if kind == "single" and is_gate(state) else WORDS.get(kind, WORDS["single"])

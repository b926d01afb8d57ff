"""The states format: a state machine whose states fan out to agents, judge or ask people, with named transitions.

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

from typing import Any

from podium.workflow.dialects.states import keys
from podium.workflow.dialects.states.file_flow import FileFlow, file_flow
from podium.workflow.dialects.states.roles import TASK
from podium.workflow.dialects.states.settings import settings
from podium.workflow.dialects.states.states import TRANSITIONS, WORDS, States, kind_of, log_of, read_states
from podium.workflow.dialects.translation import (
    Kind,
    Translation,
    labels_of_steps,
    name_of,
    new_node,
    seconds,
)
from podium.workflow.source.nodes import Node, fields, items, text


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    entries = fields(root)
    if kind == "workflow" and "states" in entries and "steps" not in entries:
        translation.check_part(root, "a states-format workflow", keys.WORKFLOW)
        return _file(root, translation)
    if kind == "configuration" and "states" not in entries and _is_configuration(root):
        translation.check_part(root, "a states-format configuration", keys.CONFIGURATION)
        return new_node(settings(root, translation), root)
    return None


def _is_configuration(root: Node) -> bool:
    words = {"circuit_breaker", "safety_limits", "orchestrator", "personas"}
    of_cli = (
        text(fields(agent).get("type")) == "cli" for agent in fields(fields(root).get("agents")).values()
    )
    return bool(words & set(fields(root))) or any(of_cli)


def _file(root: Node, translation: Translation) -> Node:
    entries = fields(root)
    states = read_states(entries["states"], entries.get("agents"), translation)
    files = file_flow(states, text(fields(entries.get("settings")).get("working_dir")) or "")
    steps = {
        states.names[name]: _step(name, state, states, files, root, translation)
        for name, state in states.work.items()
    }
    file: dict[str, Any] = {
        "podium": 1,
        "name": _name(entries.get("name")),
        "description": entries.get("description"),
        "labels": labels_of_steps({states.names[name]: name for name in states.work}),
        "inputs": files.inputs or None,
        **settings(root, translation, files),
        "steps": new_node(steps, entries["states"]),
    }
    return new_node(file, root)


def _name(node: Node | None) -> Any:
    """The name of the file, in the letters that a name may have; one that is not a text is left for the reader to report."""
    name = text(node)
    return new_node(name_of(name), node) if node is not None and name else node or "states"


def _step(  # everything around a state
    name: str, state: Node, states: States, files: FileFlow, root: Node, translation: Translation
) -> Node:
    entries = fields(state)
    translation.check_part(state, f'state "{name}"', keys.STATES[kind_of(state)])
    # Without a prompt, the description becomes the prompt.
    is_first = next(iter(states.work)) == name
    _check_agents(name, state, fields(root).get("agents"), translation)
    _check_patterns(states.start if is_first else None, state, files, translation)
    native: dict[str, Any] = {
        "description": entries.get("description") if "prompt" in entries else None,
        "log": log_of(states.start if is_first else None, state),
    }
    match text(entries.get("type")):
        case "human-approval":
            native |= _approval(name, state, files)
        case "single" if kind_of(state) == "gate":
            native |= _gate(name, state, states, files)
        case _:
            native |= _work(name, state, states, files)
            native |= _limits(root)
    native["on"] = _routes(name, state, states, translation)
    return new_node(native, state)


def _work(name: str, state: Node, states: States, files: FileFlow) -> dict[str, Any]:
    context = files.context(state)
    return {
        **_performer(state, states),
        "context": context or None,
        "prompt": _prompt(name, state, files),
        "output": _output(state, files),
    }


def _performer(state: Node, states: States) -> dict[str, Any]:
    entries = fields(state)
    persona = states.role(entries.get("persona"))
    if persona is None and text(entries.get("type")) == TASK:
        return {"role": new_node("orchestrator", state)}
    agents = [
        new_node(states.agent(str(agent.value)), agent)
        for agent in items(entries.get("agents", entries.get("agent")))
    ]
    performer = (
        new_node(agents, entries["agents"]) if "agents" in entries else (agents[0] if agents else None)
    )
    if (
        persona is None
        and performer is not None
        and "agents" not in entries
        and states.is_persona(str(performer.value))
    ):
        return {"role": performer, "touches": []}
    bare: dict[str, Any] = {"touches": []} if persona is None else {}
    return {"role": persona, "agent": performer, **bare}


def _check_agents(name: str, state: Node, agents: Node | None, translation: Translation) -> None:
    """Warns about a fan-out whose result can never be all_success, because one of its agents is switched off."""
    for agent in items(fields(state).get("agents")):
        enabled = fields(fields(agents).get(str(agent.value))).get("enabled")
        if enabled is not None and enabled.value is False:
            message = f'"{agent.value}" is not enabled, so "{name}" ends with partial_success at best'
            translation.add_warning(agent, message, f"leave it out of the agents of {name}")


def _check_patterns(start: Node | None, state: Node, files: FileFlow, translation: Translation) -> None:
    """Warns where `validate: input_exists` is about a pattern, which may match nothing."""
    actions = [
        action
        for each in (start, state)
        if each is not None
        for action in items(fields(each).get("on_enter"))
    ]
    validate = next(
        (node for action in actions if (node := fields(action).get("validate")) is not None), None
    )
    patterns = [path for node in files.context(state) if set(path := str(node.value)) & set("*?")]
    if validate is not None and patterns:
        message = f'"validate: input_exists" does not check {", ".join(patterns)}, which is a pattern'
        translation.add_warning(validate, message, "name the files that have to exist")


def _own_words(state: Node) -> str | None:
    """The prompt of a state, or its description."""
    entries = fields(state)
    return text(entries.get("prompt")) or text(entries.get("description"))


def _prompt(name: str, state: Node, files: FileFlow) -> str:
    task = _own_words(state) or f"Do the work of the state {name}."
    return "\n".join([task.rstrip("\n"), *files.shown_to(state)])


def _output(state: Node, files: FileFlow) -> Any:
    """The output file: an artifact of the step, and a file of the project when the run has ended."""
    file = fields(state).get("output")
    if file is None or text(file) is None:
        return file
    entries = fields(state)
    agent = "${{ member }}" if "agents" in entries else text(entries.get("agent")) or "orchestrator"
    folder, _, name = files.output_path(file).replace("{agent}", agent).rpartition("/")
    schema = "json" if name.endswith(".json") and kind_of(state) != "gate" else None
    return {"schema": schema, "file": new_node(name, file), "folder": new_node(folder or ".", file)}


def _gate(name: str, state: Node, states: States, files: FileFlow) -> dict[str, Any]:
    judge = fields(state).get("agent", state)
    of = files.makers(state) or states.before(name)
    return {
        "review": new_node(states.agent(str(judge.value)), judge),
        "of": of[0] if len(of) == 1 else of or None,
        "context": files.context(state) or None,
        "prompt": "\n\n".join(filter(None, (_own_words(state), files.meant(state)))) or None,
        "verdict": "quality_gate",
        "output": _output(state, files),
    }


def _approval(name: str, state: Node, files: FileFlow) -> dict[str, Any]:
    question = _own_words(state) or f"Continue after {name}?"
    return {"human": question, "show": [*files.makers(state), *files.context(state), "cost"]}


def _limits(root: Node) -> dict[str, Any]:
    entries = fields(fields(root).get("settings"))
    return {
        "timeout": seconds(entries.get("timeout_per_agent")),
        "retry": _retry(entries.get("retry_count")),
    }


def _retry(retries: Node | None) -> dict[str, Any] | None:
    """A count of retries bounds every kind of them: 0 is a single attempt, also after a timeout."""
    if retries is None:
        return None
    attempts = new_node(retries.value + 1, retries) if isinstance(retries.value, int) else retries
    return {"attempts": attempts, "transient": retries}


def _routes(name: str, state: Node, states: States, translation: Translation) -> dict[str, Any] | None:
    transitions = fields(state).get("transitions")
    words = WORDS[kind_of(state)]
    if transitions is not None:
        translation.check_part(transitions, f'transitions of "{name}"', TRANSITIONS[kind_of(state)])
    routes: dict[str, Any] = {}
    for word, node in fields(transitions).items():
        outcome = words.get(word)
        target = states.target(node, name)
        is_default = (outcome == "passed" and target == "next") or (outcome == "aborted" and target == "fail")
        if outcome is not None and not is_default:
            routes[outcome] = new_node(target, node)
    return routes or None

"""The gates format: steps by one agent each, gates between them, and levels of approval by a person.

workflow: {id: index, name: Search index}
steps:
  - id: X-1
    agent: {type: implementor, launch: headless, worktree: app/}
    outputs: [src/index.py]
    success_criterion: make test exits 0
    gate: XG-1
gates:
  - id: XG-1
    reviewer: {level: notify, agent_type: reviewer}
    on_pass: {next_step: DONE}
    on_fail: {next_step: X-1}
    max_retries: 2
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.workflow.dialects.gates import keys
from podium.workflow.dialects.gates.criteria import proof_of
from podium.workflow.dialects.gates.labels import FOLDER, is_context_path
from podium.workflow.dialects.gates.pipeline import (
    Pipeline,
    free_name,
    gate_name,
    id_of,
    landing_step,
    read_pipeline,
    request_step,
)
from podium.workflow.dialects.translation import (
    Kind,
    Translation,
    labels_of_steps,
    name_of,
    new_node,
    shell_command,
    without_rules,
)
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

PARTS: Final = {"reviewer": keys.REVIEWER, "on_pass": keys.ON_PASS, "on_fail": keys.ON_FAIL}
LAUNCHES: Final = ("interactive", "headless", "subagent")
SIGNALS: Final = ("sentinel_file", "git_commit", "pr_creation", "stdout_exit")
LEVELS: Final = ("auto", "notify", "human")
ROLES: Final = {"implementor": "implementer", "test_writer": "test_engineer", "tester": "test_engineer"}
"""Names of roles that Podium ships under another name."""

SPECS: Final = f"{FOLDER}specs/"


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    pipeline = read_pipeline(root) if kind == "workflow" else None
    if pipeline is None:
        return None
    translation.check_part(root, "a gates-format workflow", keys.FILE)
    translation.check_part(fields(root)["workflow"], "workflow", keys.HEADER)
    _check_ids("step", pipeline.steps, translation)
    _check_ids("gate", items(fields(root).get("gates")), translation)
    _check_used(pipeline, translation)
    return _file(root, pipeline, translation)


def _check_ids(thing: str, nodes: tuple[Node, ...], translation: Translation) -> None:
    ids: set[str] = set()
    for node in nodes:
        if not id_of(node):
            translation.add_problem(node, 2, f"this {thing} has no id", "add id: with a text")
        elif id_of(node) in ids:
            translation.add_problem(node, 6, f'two {thing}s have the id "{id_of(node)}"')
        ids.add(id_of(node))


def _check_used(pipeline: Pipeline, translation: Translation) -> None:
    used = {text(fields(step).get("gate")) for step in pipeline.steps}
    for name, gate in pipeline.gates.items():
        if name and name not in used:
            translation.add_problem(gate, 36, f'no step uses gate "{name}"', f"add gate: {name} to a step")


def _file(root: Node, pipeline: Pipeline, translation: Translation) -> Node:
    entries = fields(root)
    header = fields(entries.get("workflow"))
    steps: dict[str, Any] = {}
    for step in pipeline.steps:
        translation.check_part(step, f'step "{id_of(step)}"', keys.STEP)
        gate = _gate(step, pipeline, translation)
        own = pipeline.judges.get(id_of(step))
        steps[pipeline.step(id_of(step))] = _step(step, None if own else gate, root, pipeline, translation)
        if pipeline.opens_request(step):
            steps[free_name(f"{pipeline.step(id_of(step))}_pull_request", steps)] = request_step(step, header)
        if gate is not None and own is not None:
            steps[own] = _gate_step(step, gate, pipeline, translation)
    if pipeline.landing != "end":
        steps[pipeline.landing] = landing_step(pipeline, header, entries["steps"])
    file: dict[str, Any] = {
        "podium": 1,
        "name": name_of(text(header.get("id")) or "gates"),
        "description": _stripped(header.get("description", header.get("name"))),
        "labels": labels_of_steps(_labels(pipeline, steps)),
        "context": header.get("context_files"),
        "breaker": without_rules(root) if _counts_itself(pipeline) else None,
        "steps": new_node(steps, entries["steps"]),
    }
    return new_node(file, root)


def _counts_itself(pipeline: Pipeline) -> bool:
    """Whether gates lead back to earlier steps, each of them only so often as its max_retries says."""
    judging = [
        pipeline.gates[text(fields(step).get("gate")) or ""]
        for step in pipeline.steps
        if id_of(step) in pipeline.judges
    ]
    return bool(judging) and all("max_retries" in fields(gate) for gate in judging)


def _labels(pipeline: Pipeline, steps: Mapping[str, Any]) -> dict[str, str]:
    """The ids of the file by native name: of the steps, of the gates, and of what was added to them, which has none."""
    added = {name: name for name in steps}
    own = {pipeline.step(id_of(step)): id_of(step) for step in pipeline.steps}
    gates = {
        pipeline.judges.get(id_of(step)) or gate_name(gate): id_of(gate)
        for step in pipeline.steps
        if (gate := pipeline.gates.get(text(fields(step).get("gate")) or "")) is not None
    }
    return {
        **gates,
        **added,
        **own,
        **{name: gates[name] for name in pipeline.judges.values() if name in gates},
    }


def _stripped(node: Node | None) -> Node | None:
    words = text(node)
    return node if node is None or words is None else new_node(words.strip(), node)


def _gate(step: Node, pipeline: Pipeline, translation: Translation) -> Node | None:
    reference = fields(step).get("gate")
    name = text(reference)
    if reference is None or name is None:
        return None
    gate = pipeline.gates.get(name)
    if gate is None:
        translation.add_problem(
            reference, 36, f'gate "{name}" is not defined', did_you_mean(name, pipeline.gates)
        )
        return None
    translation.check_part(gate, f'gate "{name}"', keys.GATE)
    for key, part in PARTS.items():
        if key in fields(gate):
            translation.check_part(fields(gate)[key], f'{key} of gate "{name}"', part)
    path = fields(fields(gate).get("on_fail")).get("retry_context_path")
    if path is not None and not is_context_path(str(path.value)):
        message = f'"retry_context_path" of gate "{name}" must be a file below {FOLDER}'
        translation.add_problem(path, 2, message, f"write {FOLDER}retry-context/{name}-attempt-{{n}}.md")
    return gate


def _step(step: Node, gate: Node | None, root: Node, pipeline: Pipeline, translation: Translation) -> Node:
    entries = fields(step)
    folder = _folder(entries.get("agent"))
    commands, files = proof_of(entries.get("success_criterion"), translation)
    named = [*items(entries.get("outputs")), *files]
    outputs = list(
        {path: new_node(path, item) for item in named for path in [_below(folder, str(item.value))]}.values()
    )
    proofs = [
        new_node({"run": shell_command(command), "dir": folder or None}, command) for command in commands
    ]
    judges = [] if gate is None else [_judge(gate, step)]
    retries = fields(gate).get("max_retries")
    native: dict[str, Any] = {
        **_performer(step, translation),
        "dir": folder or None,
        "touches": [f"{folder}/**" if folder else "**"],
        "context": _context(step, pipeline) or None,
        "prompt": _prompt(step, root),
        "output": {"files": outputs} if outputs else None,
        "gates": [*proofs, *judges] or None,
        "retry": _retry(retries),
    }
    return new_node(native, step)


def _retry(retries: Node | None) -> Any:
    """`max_retries`: how often a gate may fail in the whole run before a person decides."""
    if retries is None:
        return None
    # With 0 as with 1 a person decides about the first failure.
    attempts = new_node(1, retries) if retries.value == 0 and retries.value is not False else retries
    return {"attempts": attempts, "per": "run", "on_exhausted": "human"}


def _performer(step: Node, translation: Translation) -> dict[str, Any]:
    agent = fields(step).get("agent", new_node({}, step))
    translation.check_part(agent, "agent", keys.AGENT)
    if "type" not in fields(agent):
        translation.add_problem(
            agent, 4, f'step "{id_of(step)}" has no agent.type', "name the role that does the step"
        )
    entries = fields(agent)
    launch = entries.get("launch")
    if launch is not None and launch.value not in LAUNCHES:
        translation.add_problem(
            launch,
            2,
            f'"{launch.value}" is not a way to launch an agent',
            f"use one of {', '.join(LAUNCHES)}",
        )
    done = _done_signal(step, translation)
    if launch is not None and launch.value == "interactive":
        return {"role": _role(entries.get("type", agent)), "agent": new_node("human", launch), "done": done}
    return {"role": _role(entries.get("type", agent)), "done": done}


def _role(node: Node) -> Node:
    name = name_of(str(node.value))
    return new_node(ROLES.get(name, name), node)


def _done_signal(step: Node, translation: Translation) -> Any:
    signal = fields(step).get("signal")
    if signal is None:
        return None
    translation.check_part(signal, "signal", keys.SIGNAL)
    entries = fields(signal)
    kind, value = text(entries.get("type")), entries.get("value")
    match kind:
        case "sentinel_file":
            return new_node({"file": value}, signal)
        case "git_commit":
            return new_node({"commit": value}, signal)
        case "stdout_exit" | "pr_creation" | None:
            return None
        case _:
            translation.add_problem(
                signal, 2, f'"{kind}" is not a signal', f"use one of {', '.join(SIGNALS)}"
            )
            return None


def _folder(agent: Node | None) -> str:
    named = text(fields(agent).get("worktree")) or ""
    folder = posixpath.normpath(named.strip("/")) if named.strip("/") else ""
    return "" if folder == "." else folder


def _below(folder: str, path: str) -> str:
    """A path from the root of the project; a path that leaves the project is unchanged, and the reader reports it."""
    return path if posixpath.isabs(path) or path.startswith(f"{folder}/") else posixpath.join(folder, path)


def _context(step: Node, pipeline: Pipeline) -> list[Node]:
    entries = fields(step)
    paths = [*items(entries.get("inputs")), *items(fields(entries.get("agent")).get("context"))]
    return [
        new_node(_input_path(str(item.value), step, pipeline), item)
        for item in paths
        # An agent has these files in its workspace, and the engine passes feedback on by itself.
        if not str(item.value).startswith(FOLDER) or str(item.value).startswith(SPECS)
    ]


def _produced(steps: Sequence[Node]) -> Mapping[str, tuple[str, ...]]:
    """The paths, from the root of the project, that each name under `outputs` means."""
    outputs: dict[str, tuple[str, ...]] = {}
    for step in steps:
        folder = _folder(fields(step).get("agent"))
        for item in items(fields(step).get("outputs")):
            name = str(item.value)
            outputs[name] = (*outputs.get(name, ()), _below(folder, name))
    return outputs


def _input_path(name: str, step: Node, pipeline: Pipeline) -> str:
    """Where an input is: in the worktree of the step that makes it. Of several, the one in this worktree or the nearest before."""
    index = pipeline.steps.index(step)
    earlier, others = _produced(pipeline.steps[:index]), _produced(pipeline.steps[index:])
    paths = earlier.get(name) or others.get(name) or (name,)
    own = _below(_folder(fields(step).get("agent")), name)
    return own if own in paths else paths[-1]


def _prompt(step: Node, root: Node) -> str:
    entries, header = fields(step), fields(fields(root).get("workflow"))
    goal = text(header.get("description")) or text(header.get("name")) or ""
    lines = [f'Do the step "{text(entries.get("name")) or id_of(step)}".']
    lines += [f"The whole is: {goal.strip()}"] if goal else []
    criterion = text(entries.get("success_criterion"))
    lines += [f"It is done when: {criterion}"] if criterion else []
    if text(fields(entries.get("agent")).get("launch")) == "subagent":
        lines.append(
            "Start one subagent for this step with these instructions, wait for it, and report what it did."
        )
    lines += _signal_line(entries)
    return "\n".join(lines)


def _signal_line(entries: Mapping[str, Node]) -> list[str]:
    """How an agent has to say that it is done."""
    signal = fields(entries.get("signal"))
    value = text(signal.get("value"))
    match text(signal.get("type")):
        case "sentinel_file":
            return [
                f'Then, as the last thing, write the file {value}: {{"step": "{text(entries.get("id"))}"}}'
            ]
        case "git_commit":
            return [f'Then, as the last thing, commit your work with "{value}" in the message.']
        case _:
            return []


def _judge(gate: Node, step: Node) -> Node:
    entries = fields(fields(gate).get("reviewer"))
    title = text(fields(gate).get("name")) or id_of(gate)
    level = text(entries.get("level"))
    if level == "human":
        question = f'{title}: is the step "{text(fields(step).get("name")) or id_of(step)}" good?'
        return new_node(
            {"name": gate_name(gate), "human": question, "show": ["diff", "tests", "verdicts"]}, gate
        )
    role = _role(entries["agent_type"]) if "agent_type" in entries else "reviewer"
    return new_node(
        {
            "name": gate_name(gate),
            "review": role,
            "level": entries.get("level") if level != "auto" else None,
        },
        gate,
    )


def _gate_step(step: Node, gate: Node, pipeline: Pipeline, translation: Translation) -> Node:
    """A gate that leads to another step than the one it judges."""
    entries = fields(gate)
    judge = {key: node for key, node in fields(_judge(gate, step)).items() if key != "name"}
    back = pipeline.target(entries.get("on_fail"))
    on = pipeline.target(entries.get("on_pass"))
    native: dict[str, Any] = {
        **judge,
        "of": pipeline.step(id_of(step)) if "review" in judge else None,
        # A gate of level human asks a person each time.
        "retry": _retry(entries.get("max_retries")) if "review" in judge else None,
        "on": {
            "passed": None if on in (None, pipeline.after(step)) else new_node(on, entries["on_pass"]),
            "rejected": None if back is None else new_node(back, entries["on_fail"]),
        },
    }
    translation.add_note(gate, "this gate leads to another step than its own, so it becomes a step")
    return new_node(native, gate)

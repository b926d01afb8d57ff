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
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.gates import keys
from podium.workflow.dialects.gates.criteria import proof_of
from podium.workflow.dialects.translation import Kind, Names, Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

PARTS: Final = {"reviewer": keys.REVIEWER, "on_pass": keys.ON_PASS, "on_fail": keys.ON_FAIL}
LAUNCHES: Final = ("interactive", "headless", "subagent")
SIGNALS: Final = ("sentinel_file", "git_commit", "pr_creation", "stdout_exit")
LEVELS: Final = ("auto", "notify", "human")
ENDS: Final = {"DONE": "end", "ABORTED": "fail"}
ROLES: Final = {"implementor": "implementer", "test_writer": "test_engineer", "tester": "test_engineer"}
"""Names of roles that Podium ships under another name."""

FOLDER: Final = ".workflow/"
SPECS: Final = f"{FOLDER}specs/"


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    pipeline = _pipeline(root) if kind == "workflow" else None
    if pipeline is None:
        return None
    translation.check_part(root, "a gates-format workflow", keys.FILE)
    translation.check_part(fields(root)["workflow"], "workflow", keys.HEADER)
    _check_ids("step", pipeline.steps, translation)
    _check_ids("gate", items(fields(root).get("gates")), translation)
    _check_used(pipeline, translation)
    return _file(root, pipeline, translation)


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids of a file by native name; a gate inside a step is named `step/gate`."""

    id: str
    steps: Mapping[str, str]
    gates: Mapping[str, str]
    context_paths: Mapping[str, str]
    """`retry_context_path` by the id of the gate, below `.workflow/`."""
    by_people: frozenset[str]
    """Files below `.workflow/` by which people say that their steps are done."""


def labels_of(root: Node) -> Labels | None:
    """None for a file of another format."""
    pipeline = _pipeline(root)
    if pipeline is None:
        return None
    gates: dict[str, str] = {}
    for step in pipeline.steps:
        gate = pipeline.gates.get(text(fields(step).get("gate")) or "")
        if gate is not None:
            own = pipeline.judges.get(_id(step))
            gates[own or f"{pipeline.step(_id(step))}/{_gate_name(gate)}"] = _id(gate)
    steps = {pipeline.step(_id(step)): _id(step) for step in pipeline.steps}
    paths = {
        name: path.removeprefix(FOLDER)
        for name, gate in pipeline.gates.items()
        for path in [_context_path(gate)]
        if is_context_path(path)
    }
    name = text(fields(fields(root)["workflow"]).get("id")) or "gates"
    return Labels(name, steps, gates, paths, frozenset(_signals_of_people(pipeline)))


def _signals_of_people(pipeline: Pipeline) -> Iterator[str]:
    for step in pipeline.steps:
        launch = text(fields(fields(step).get("agent")).get("launch"))
        value = text(fields(fields(step).get("signal")).get("value")) or ""
        if launch == "interactive" and value.startswith(FOLDER):
            yield value.removeprefix(FOLDER)


def _context_path(gate: Node) -> str:
    return text(fields(fields(gate).get("on_fail")).get("retry_context_path")) or ""


def is_context_path(path: str) -> bool:
    """Whether Podium may write the file: below `.workflow/`, which is Podium's and the format's."""
    return path.startswith(FOLDER) and path == posixpath.normpath(path) and path != FOLDER


def _check_ids(thing: str, nodes: tuple[Node, ...], translation: Translation) -> None:
    ids: set[str] = set()
    for node in nodes:
        if not _id(node):
            translation.add_problem(node, 2, f"this {thing} has no id", "add id: with a text")
        elif _id(node) in ids:
            translation.add_problem(node, 6, f'two {thing}s have the id "{_id(node)}"')
        ids.add(_id(node))


def _check_used(pipeline: Pipeline, translation: Translation) -> None:
    used = {text(fields(step).get("gate")) for step in pipeline.steps}
    for name, gate in pipeline.gates.items():
        if name and name not in used:
            translation.add_problem(gate, 36, f'no step uses gate "{name}"', f"add gate: {name} to a step")


@dataclass(frozen=True, slots=True)
class Pipeline:
    steps: tuple[Node, ...]
    gates: Mapping[str, Node]
    names: Names
    judges: dict[str, str] = field(default_factory=dict)
    """Names of the gates that are steps of their own, by the id of the step they judge."""

    def step(self, name: str) -> str:
        return self.names[name]

    def target(self, node: Node | None) -> str | None:
        target = text(fields(node).get("next_step"))
        return None if target is None else ENDS.get(target, self.names[target])

    def after(self, step: Node) -> str:
        index = self.steps.index(step) + 1
        return self.names[_id(self.steps[index])] if index < len(self.steps) else "end"


def _pipeline(root: Node) -> Pipeline | None:
    entries = fields(root)
    header, steps = entries.get("workflow"), entries.get("steps")
    is_ours = header is not None and "steps" not in fields(header) and steps is not None
    if not is_ours or steps is None or not isinstance(steps.value, tuple):
        return None
    pipeline = Pipeline(steps.value, _by_id(entries.get("gates")), _names(steps.value))
    pipeline.judges.update(_judges(pipeline))
    return pipeline


def _judges(pipeline: Pipeline) -> dict[str, str]:
    """Names for gates that become steps: one for each step they judge, none equal to the name of a step."""
    used = {pipeline.step(_id(step)) for step in pipeline.steps}
    names: dict[str, str] = {}
    for step in pipeline.steps:
        gate = pipeline.gates.get(text(fields(step).get("gate")) or "")
        if gate is None or _is_inline(step, gate, pipeline):
            continue
        base = _gate_name(gate)
        candidates = (base if number == 1 else f"{base}_{number}" for number in range(1, len(used) + 2))
        names[_id(step)] = next(name for name in candidates if name not in used)
        used.add(names[_id(step)])
    return names


def _by_id(gates: Node | None) -> dict[str, Node]:
    return {_id(gate): gate for gate in items(gates)}


def _id(node: Node) -> str:
    return text(fields(node).get("id")) or ""


def _names(steps: tuple[Node, ...]) -> Names:
    """Names by step id, made from the step's `name`, since `write-tests` is clearer than `X-1`."""
    native = Names()
    return Names(
        native_names={_id(step): native.add(text(fields(step).get("name")) or _id(step)) for step in steps}
    )


def _file(root: Node, pipeline: Pipeline, translation: Translation) -> Node:
    entries = fields(root)
    header = fields(entries.get("workflow"))
    steps: dict[str, Any] = {}
    for step in pipeline.steps:
        translation.check_part(step, f'step "{_id(step)}"', keys.STEP)
        gate = _gate(step, pipeline, translation)
        own = pipeline.judges.get(_id(step))
        steps[pipeline.step(_id(step))] = _step(step, None if own else gate, root, pipeline, translation)
        if gate is not None and own is not None:
            steps[own] = _gate_step(step, gate, pipeline, translation)
    file: dict[str, Any] = {
        "podium": 1,
        "name": name_of(text(header.get("id")) or "gates"),
        "description": _stripped(header.get("description", header.get("name"))),
        "context": header.get("context_files"),
        "steps": new_node(steps, entries["steps"]),
    }
    return new_node(file, root)


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


def _is_inline(step: Node, gate: Node, pipeline: Pipeline) -> bool:
    """Whether a failed gate only causes another attempt of the step before it."""
    entries = fields(gate)
    on = pipeline.target(entries.get("on_pass")) or pipeline.after(step)
    back = pipeline.target(entries.get("on_fail")) or pipeline.step(_id(step))
    return on == pipeline.after(step) and back == pipeline.step(_id(step))


def _step(step: Node, gate: Node | None, root: Node, pipeline: Pipeline, translation: Translation) -> Node:
    entries = fields(step)
    folder = _folder(entries.get("agent"))
    commands, files = proof_of(entries.get("success_criterion"), translation)
    named = [*items(entries.get("outputs")), *files]
    outputs = list(
        {path: new_node(path, item) for item in named for path in [_below(folder, str(item.value))]}.values()
    )
    proofs = [new_node({"run": command, "dir": folder or None}, command) for command in commands]
    judges = [] if gate is None else [_judge(gate, step)]
    retries = fields(gate).get("max_retries")
    native: dict[str, Any] = {
        **_performer(step, translation),
        "dir": folder or None,
        "touches": [f"{folder}/**" if folder else "**"],
        "context": _context(step, folder, pipeline) or None,
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
            agent, 4, f'step "{_id(step)}" has no agent.type', "name the role that does the step"
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
        return {"agent": new_node("human", launch), "done": done}
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
        case "pr_creation":
            return new_node({"poll": ["gh", "pr", "view"], "pending": [1]}, signal)
        case "stdout_exit" | None:
            return None
        case _:
            translation.add_problem(
                signal, 2, f'"{kind}" is not a signal', f"use one of {', '.join(SIGNALS)}"
            )
            return None


def _folder(agent: Node | None) -> str:
    return (text(fields(agent).get("worktree")) or "").strip("/").removeprefix("./")


def _below(folder: str, path: str) -> str:
    """A path from the root of the project; a path that leaves the project is unchanged, and the reader reports it."""
    return path if posixpath.isabs(path) or path.startswith(f"{folder}/") else posixpath.join(folder, path)


def _context(step: Node, folder: str, pipeline: Pipeline) -> list[Node]:
    entries = fields(step)
    produced = {str(item.value) for other in pipeline.steps for item in items(fields(other).get("outputs"))}
    paths = [*items(entries.get("inputs")), *items(fields(entries.get("agent")).get("context"))]
    return [
        new_node(_below(folder, str(item.value)) if item.value in produced else item.value, item)
        for item in paths
        # An agent has these files in its workspace, and the engine passes feedback on by itself.
        if not str(item.value).startswith(FOLDER) or str(item.value).startswith(SPECS)
    ]


def _prompt(step: Node, root: Node) -> str:
    entries, header = fields(step), fields(fields(root).get("workflow"))
    goal = text(header.get("description")) or text(header.get("name")) or ""
    lines = [f'Do the step "{text(entries.get("name")) or _id(step)}".']
    lines += [f"The whole is: {goal.strip()}"] if goal else []
    criterion = text(entries.get("success_criterion"))
    lines += [f"It is done when: {criterion}"] if criterion else []
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


def _gate_name(gate: Node) -> str:
    return name_of(text(fields(gate).get("name")) or _id(gate))


def _judge(gate: Node, step: Node) -> Node:
    entries = fields(fields(gate).get("reviewer"))
    title = text(fields(gate).get("name")) or _id(gate)
    level = text(entries.get("level"))
    if level == "human":
        question = f'{title}: is the step "{text(fields(step).get("name")) or _id(step)}" good?'
        return new_node(
            {"name": _gate_name(gate), "human": question, "show": ["diff", "tests", "verdicts"]}, gate
        )
    role = _role(entries["agent_type"]) if "agent_type" in entries else "reviewer"
    return new_node(
        {
            "name": _gate_name(gate),
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
        "of": pipeline.step(_id(step)) if "review" in judge else None,
        # A gate of level human asks a person each time.
        "retry": _retry(entries.get("max_retries")) if "review" in judge else None,
        "on": {
            "passed": None if on in (None, pipeline.after(step)) else new_node(on, entries["on_pass"]),
            "rejected": None if back is None else new_node(back, entries["on_fail"]),
        },
    }
    translation.add_note(gate, "this gate leads to another step than its own, so it becomes a step")
    return new_node(native, gate)

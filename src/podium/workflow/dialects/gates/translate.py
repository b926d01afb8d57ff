"""The gates format: steps done by one agent each, gates between them, and how far a person has a say.

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
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.dialects.gates.criteria import proof
from podium.workflow.dialects.translation import Kind, Names, Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

HEADER: Final = ("id", "name", "description", "context_files")
STEP: Final = ("id", "name", "agent", "inputs", "outputs", "success_criterion", "signal", "gate")
AGENT: Final = ("type", "launch", "worktree", "context")
GATE: Final = ("id", "name", "reviewer", "on_pass", "on_fail", "max_retries")
PARTS: Final = {
    "reviewer": ("level", "agent_type"),
    "on_pass": ("next_step",),
    "on_fail": ("next_step", "retry_context_path"),
}
LAUNCHES: Final = ("interactive", "headless", "subagent")
SIGNALS: Final = ("sentinel_file", "git_commit", "pr_creation", "stdout_exit")
LEVELS: Final = ("auto", "notify", "human")
ENDS: Final = {"DONE": "end", "ABORTED": "fail"}
ROLES: Final = {"implementor": "implementer", "test_writer": "test_engineer", "tester": "test_engineer"}
"""Words for roles that are shipped under another name."""

FEEDBACK: Final = ".workflow/retry-context/"


def translate(root: Node, kind: Kind, page: Translation) -> Node | None:
    pipeline = _pipeline(root) if kind == "workflow" else None
    if pipeline is None:
        return None
    page.check_keys(root, "a workflow of gates", ("workflow", "steps", "gates"))
    page.check_keys(fields(root)["workflow"], "workflow", HEADER)
    _check_ids("step", pipeline.steps, page)
    _check_ids("gate", items(fields(root).get("gates")), page)
    _check_used(pipeline, page)
    return _file(root, pipeline, page)


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids of a file by the native names; a gate inside a step goes by `step/gate`."""

    id: str
    steps: Mapping[str, str]
    gates: Mapping[str, str]


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
    return Labels(text(fields(fields(root)["workflow"]).get("id")) or "gates", steps, gates)


def _check_ids(thing: str, nodes: tuple[Node, ...], page: Translation) -> None:
    seen: set[str] = set()
    for node in nodes:
        if not _id(node):
            page.complain(node, 2, f"a {thing} needs an id", "write id: and a text")
        elif _id(node) in seen:
            page.complain(node, 6, f'two {thing}s have the id "{_id(node)}"')
        seen.add(_id(node))


def _check_used(pipeline: Pipeline, page: Translation) -> None:
    used = {text(fields(step).get("gate")) for step in pipeline.steps}
    for name, gate in pipeline.gates.items():
        if name and name not in used:
            page.complain(gate, 36, f'gate "{name}" stands behind no step', f"write gate: {name} at one")


@dataclass(frozen=True, slots=True)
class Pipeline:
    steps: tuple[Node, ...]
    gates: Mapping[str, Node]
    names: Names
    judges: dict[str, str] = field(default_factory=dict)
    """By the id of a step: what the gate behind it is called, where that is a step of its own."""

    def step(self, name: str) -> str:
        return self.names[name]

    def target(self, node: Node | None) -> str | None:
        written = text(fields(node).get("next_step"))
        return None if written is None else ENDS.get(written, self.names[written])

    def after(self, step: Node) -> str:
        index = self.steps.index(step) + 1
        return self.names[_id(self.steps[index])] if index < len(self.steps) else "end"


def _pipeline(root: Node) -> Pipeline | None:
    said = fields(root)
    header, steps = said.get("workflow"), said.get("steps")
    is_ours = header is not None and "steps" not in fields(header) and steps is not None
    if not is_ours or steps is None or not isinstance(steps.value, tuple):
        return None
    made = Pipeline(steps.value, _by_id(said.get("gates")), _names(steps.value))
    made.judges.update(_judges(made))
    return made


def _judges(pipeline: Pipeline) -> dict[str, str]:
    """A gate that several steps share stands behind each of them, and none takes the name of a step."""
    taken = {pipeline.step(_id(step)) for step in pipeline.steps}
    found: dict[str, str] = {}
    for step in pipeline.steps:
        gate = pipeline.gates.get(text(fields(step).get("gate")) or "")
        if gate is None or _is_inline(step, gate, pipeline):
            continue
        wanted = _gate_name(gate)
        names = (wanted if number == 1 else f"{wanted}_{number}" for number in range(1, len(taken) + 2))
        found[_id(step)] = next(name for name in names if name not in taken)
        taken.add(found[_id(step)])
    return found


def _by_id(gates: Node | None) -> dict[str, Node]:
    return {_id(gate): gate for gate in items(gates)}


def _id(node: Node) -> str:
    return text(fields(node).get("id")) or ""


def _names(steps: tuple[Node, ...]) -> Names:
    """By id, spelled by what they are called: `write-tests` says more than `X-1`."""
    called = Names()
    return Names(
        called={_id(step): called.add(text(fields(step).get("name")) or _id(step)) for step in steps}
    )


def _file(root: Node, pipeline: Pipeline, page: Translation) -> Node:
    said = fields(root)
    header = fields(said.get("workflow"))
    steps: dict[str, Any] = {}
    for step in pipeline.steps:
        page.check_keys(step, f'step "{_id(step)}"', STEP)
        gate = _gate(step, pipeline, page)
        own = pipeline.judges.get(_id(step))
        steps[pipeline.step(_id(step))] = _step(step, None if own else gate, root, pipeline, page)
        if gate is not None and own is not None:
            steps[own] = _gate_step(step, gate, pipeline, page)
    file: dict[str, Any] = {
        "podium": 1,
        "name": name_of(text(header.get("id")) or "gates"),
        "description": _stripped(header.get("description", header.get("name"))),
        "context": header.get("context_files"),
        "steps": new_node(steps, said["steps"]),
    }
    return new_node(file, root)


def _stripped(node: Node | None) -> Node | None:
    words = text(node)
    return node if node is None or words is None else new_node(words.strip(), node)


def _gate(step: Node, pipeline: Pipeline, page: Translation) -> Node | None:
    wanted = fields(step).get("gate")
    name = text(wanted)
    if wanted is None or name is None:
        return None
    gate = pipeline.gates.get(name)
    if gate is None:
        page.complain(wanted, 36, f'gate "{name}" is not defined', did_you_mean(name, pipeline.gates))
        return None
    page.check_keys(gate, f'gate "{name}"', GATE)
    for part, known in PARTS.items():
        if part in fields(gate):
            page.check_keys(fields(gate)[part], f'{part} of gate "{name}"', known)
    return gate


def _is_inline(step: Node, gate: Node, pipeline: Pipeline) -> bool:
    """Whether a failed gate means nothing but another attempt of the step before it."""
    said = fields(gate)
    on = pipeline.target(said.get("on_pass")) or pipeline.after(step)
    back = pipeline.target(said.get("on_fail")) or pipeline.step(_id(step))
    return on == pipeline.after(step) and back == pipeline.step(_id(step))


def _step(step: Node, gate: Node | None, root: Node, pipeline: Pipeline, page: Translation) -> Node:
    said = fields(step)
    folder = _folder(said.get("agent"))
    commands, files = proof(said.get("success_criterion"), page)
    named = [*items(said.get("outputs")), *files]
    outputs = list(
        {path: new_node(path, item) for item in named for path in [_below(folder, str(item.value))]}.values()
    )
    proving = [new_node({"run": command, "dir": folder or None}, command) for command in commands]
    judged = [] if gate is None else [_judge(gate, step)]
    tries = fields(gate).get("max_retries")
    native: dict[str, Any] = {
        **_who(step, page),
        "dir": folder or None,
        "touches": [f"{folder}/**" if folder else "**"],
        "context": _context(step, folder, pipeline) or None,
        "prompt": _prompt(step, root),
        "output": {"files": outputs} if outputs else None,
        "gates": [*proving, *judged] or None,
        "retry": None if tries is None else {"attempts": tries, "on_exhausted": "human"},
    }
    return new_node(native, step)


def _who(step: Node, page: Translation) -> dict[str, Any]:
    agent = fields(step).get("agent", new_node({}, step))
    page.check_keys(agent, "agent", AGENT)
    if "type" not in fields(agent):
        page.complain(agent, 4, f'step "{_id(step)}" says no agent.type', "name the role that does it")
    said = fields(agent)
    launch = said.get("launch")
    if launch is not None and launch.value not in LAUNCHES:
        page.complain(launch, 2, f'"{launch.value}" is no way to launch', f"one of {', '.join(LAUNCHES)}")
    if launch is not None and launch.value == "interactive":
        return {"agent": new_node("human", launch), "done": _done(step, page)}
    if fields(step).get("signal") is not None:
        page.note(fields(step)["signal"], "an agent without a person is done when its process ends")
    return {"role": _role(said.get("type", agent))}


def _role(node: Node) -> Node:
    name = name_of(str(node.value))
    return new_node(ROLES.get(name, name), node)


def _done(step: Node, page: Translation) -> Any:
    signal = fields(step).get("signal")
    if signal is None:
        return None
    page.check_keys(signal, "signal", ("type", "value"))
    said = fields(signal)
    kind, value = text(said.get("type")), said.get("value")
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
            page.complain(signal, 2, f'"{kind}" is no signal', f"one of {', '.join(SIGNALS)}")
            return None


def _folder(agent: Node | None) -> str:
    return (text(fields(agent).get("worktree")) or "").strip("/").removeprefix("./")


def _below(folder: str, path: str) -> str:
    """A path from the root of the project; what leaves it stays so, and the reader says it."""
    return path if posixpath.isabs(path) or path.startswith(f"{folder}/") else posixpath.join(folder, path)


def _context(step: Node, folder: str, pipeline: Pipeline) -> list[Node]:
    said = fields(step)
    made = {str(item.value) for other in pipeline.steps for item in items(fields(other).get("outputs"))}
    wanted = [*items(said.get("inputs")), *items(fields(said.get("agent")).get("context"))]
    return [
        new_node(_below(folder, str(item.value)) if item.value in made else item.value, item)
        for item in wanted
        # Feedback is handed on by the engine.
        if not str(item.value).startswith(FEEDBACK)
    ]


def _prompt(step: Node, root: Node) -> str:
    said, header = fields(step), fields(fields(root).get("workflow"))
    goal = text(header.get("description")) or text(header.get("name")) or ""
    lines = [f'Do the step "{text(said.get("name")) or _id(step)}".']
    lines += [f"The whole is: {goal.strip()}"] if goal else []
    criterion = text(said.get("success_criterion"))
    lines += [f"It is done when: {criterion}"] if criterion else []
    return "\n".join(lines)


def _gate_name(gate: Node) -> str:
    return name_of(text(fields(gate).get("name")) or _id(gate))


def _judge(gate: Node, step: Node) -> Node:
    said = fields(fields(gate).get("reviewer"))
    title = text(fields(gate).get("name")) or _id(gate)
    level = text(said.get("level"))
    if level == "human":
        question = f'{title}: is the step "{text(fields(step).get("name")) or _id(step)}" good?'
        return new_node(
            {"name": _gate_name(gate), "human": question, "show": ["diff", "tests", "verdicts"]}, gate
        )
    role = _role(said["agent_type"]) if "agent_type" in said else "reviewer"
    return new_node(
        {"name": _gate_name(gate), "review": role, "level": said.get("level") if level != "auto" else None},
        gate,
    )


def _gate_step(step: Node, gate: Node, pipeline: Pipeline, page: Translation) -> Node:
    """A gate that leads elsewhere than back to its own step."""
    said = fields(gate)
    judge = {key: node for key, node in fields(_judge(gate, step)).items() if key != "name"}
    back = pipeline.target(said.get("on_fail"))
    on = pipeline.target(said.get("on_pass"))
    tries = said.get("max_retries")
    native: dict[str, Any] = {
        **judge,
        "of": pipeline.step(_id(step)) if "review" in judge else None,
        "retry": {"visits": tries} if tries is not None else None,
        "on": {
            "passed": None if on in (None, pipeline.after(step)) else new_node(on, said["on_pass"]),
            "rejected": None if back is None else new_node(back, said["on_fail"]),
        },
    }
    page.note(gate, "this gate leads further than to its own step, so it is a step of its own")
    return new_node(native, gate)

"""The steps and gates of a gates-format file with their native names, and what the format says about branches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.translation import Names, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text

ENDS: Final = {"ABORTED": "fail"}


@dataclass(frozen=True, slots=True)
class Pipeline:
    steps: tuple[Node, ...]
    gates: Mapping[str, Node]
    names: Names
    judges: dict[str, str] = field(default_factory=dict)
    """Names of the gates that are steps of their own, by the id of the step they judge."""
    landing: str = "end"
    """The name of the step that merges the work at DONE; `end` if no gate leads there."""

    def step(self, name: str) -> str:
        return self.names[name]

    def target(self, node: Node | None) -> str | None:
        target = text(fields(node).get("next_step"))
        if target == "DONE":
            return self.landing
        return None if target is None else ENDS.get(target, self.names[target])

    def after(self, step: Node) -> str:
        index = self.steps.index(step) + 1
        return self.names[id_of(self.steps[index])] if index < len(self.steps) else self.landing

    def opens_request(self, step: Node) -> bool:
        return text(fields(fields(step).get("signal")).get("type")) == "pr_creation"


def read_pipeline(root: Node) -> Pipeline | None:
    entries = fields(root)
    header, steps = entries.get("workflow"), entries.get("steps")
    is_ours = header is not None and "steps" not in fields(header) and steps is not None
    if not is_ours or steps is None or not isinstance(steps.value, tuple):
        return None
    gates = _by_id(entries.get("gates"))
    names = _names(steps.value)
    targets = (text(fields(fields(gate).get("on_pass")).get("next_step")) for gate in gates.values())
    landing = free_name("done", {names[id_of(step)] for step in steps.value}) if "DONE" in targets else "end"
    pipeline = Pipeline(steps.value, gates, names, landing=landing)
    pipeline.judges.update(_judges(pipeline))
    return pipeline


def _judges(pipeline: Pipeline) -> dict[str, str]:
    """Names for gates that become steps: one for each step they judge, none equal to the name of a step."""
    used = {pipeline.landing, *(pipeline.step(id_of(step)) for step in pipeline.steps)}
    names: dict[str, str] = {}
    for step in pipeline.steps:
        gate = pipeline.gates.get(text(fields(step).get("gate")) or "")
        if gate is None or is_inline(step, gate, pipeline):
            continue
        names[id_of(step)] = free_name(gate_name(gate), used)
        used.add(names[id_of(step)])
    return names


def free_name(base: str, used: Collection[str]) -> str:
    candidates = (base if number == 1 else f"{base}_{number}" for number in range(1, len(used) + 2))
    return next(name for name in candidates if name not in used)


def _by_id(gates: Node | None) -> dict[str, Node]:
    return {id_of(gate): gate for gate in items(gates)}


def id_of(node: Node) -> str:
    return text(fields(node).get("id")) or ""


def _names(steps: tuple[Node, ...]) -> Names:
    """Names by step id, made from the step's `name`, since `write-tests` is clearer than `X-1`."""
    native = Names()
    return Names(
        native_names={
            id_of(step): native.add(text(fields(step).get("name")) or id_of(step)) for step in steps
        }
    )


def gate_name(gate: Node) -> str:
    return name_of(text(fields(gate).get("name")) or id_of(gate))


def is_inline(step: Node, gate: Node, pipeline: Pipeline) -> bool:
    """Whether a failed gate only causes another attempt of the step before it."""
    if pipeline.opens_request(step):
        return False  # The pull request is the signal that the gate waits for.
    entries = fields(gate)
    on = pipeline.target(entries.get("on_pass")) or pipeline.after(step)
    back = pipeline.target(entries.get("on_fail")) or pipeline.step(id_of(step))
    return on == pipeline.after(step) and back == pipeline.step(id_of(step))


def request_branch(step: Node, header: Mapping[str, Node]) -> str:
    value = text(fields(fields(step).get("signal")).get("value"))
    return value or f"{text(header.get('id')) or 'gates'}/{id_of(step)}"


def request_step(step: Node, header: Mapping[str, Node]) -> Node:
    """Opens the pull request by which the step says that it is done; agents have no login to do it themselves."""
    git = {"branch": request_branch(step, header), "pull_request": "open"}
    return new_node({"git": git}, fields(step)["signal"])


def landing_step(pipeline: Pipeline, header: Mapping[str, Node], near: Node) -> Node:
    """What DONE means: the pull request is merged; without one, the work lands on the branch that the run began on."""
    requested = [step for step in pipeline.steps if pipeline.opens_request(step)]
    if requested:
        branch = request_branch(requested[-1], header)
        return new_node({"git": {"branch": branch, "pull_request": "merge"}}, near)
    title = (text(header.get("name")) or text(header.get("id")) or "gates").strip()
    return new_node(
        {"when": 'run.branch != ""', "git": {"land": "${{ run.branch }}", "message": title}}, near
    )

"""Finds which state writes the file that another one reads, so that a prompt names only existing files (R049)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from podium.core.globs import glob_matches
from podium.fast_dataclass import dataclass
from podium.workflow.dialects.states.states import States
from podium.workflow.dialects.translation import new_node
from podium.workflow.source.nodes import Node, fields, items, text


@dataclass(frozen=True, slots=True)
class FileFlow:
    states: States
    makers_of: Mapping[int, tuple[str, ...]]
    """By the identity of a state: the earlier states whose output it reads."""
    others: Mapping[int, tuple[Node, ...]]
    """By the identity of a state: its inputs that no state writes."""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def makers(self, state: Node) -> list[str]:
        return [self.states.names[name] for name in self.makers_of.get(id(state), ())]

    def context(self, state: Node) -> list[Node]:
        return [new_node(_path(node, self.inputs), node) for node in self.others.get(id(state), ())]

    def shown_to(self, state: Node) -> list[str]:
        return [self._shown(name) for name in self.makers_of.get(id(state), ())]

    def _shown(self, name: str) -> str:
        step, title = self.states.names[name], name.replace("-", " ")
        if "agents" not in fields(self.states.work[name]):
            return f"\n## {title}\n{{{{ steps.{step}.text | fence }}}}"
        return (
            f"{{% for member in steps.{step}.members %}}\n## {title} from {{{{ member.name }}}}\n"
            "{{ member.text | fence }}\n{% endfor %}"
        )


def file_flow(states: States) -> FileFlow:
    makers: dict[int, tuple[str, ...]] = {}
    others: dict[int, tuple[Node, ...]] = {}
    earlier: dict[str, Node] = {}
    for name, state in states.work.items():
        patterns = items(fields(state).get("input"))
        writers = {id(node): _makers(node, earlier) for node in patterns}
        makers[id(state)] = tuple(dict.fromkeys(maker for names in writers.values() for maker in names))
        others[id(state)] = tuple(node for node in patterns if not writers[id(node)])
        output = fields(state).get("output")
        if output is not None:
            earlier[name] = output
    return FileFlow(states, makers, others, _inputs(others))


def _makers(pattern: Node, earlier: Mapping[str, Node]) -> list[str]:
    return [maker for maker, output in earlier.items() if _matches(pattern, output)]


def _matches(pattern: Node, output: Node) -> bool:
    path = (text(output) or "").replace("{agent}", "agent")
    return glob_matches(text(pattern) or "", path)


def _inputs(others: Mapping[int, tuple[Node, ...]]) -> dict[str, Any]:
    """The input `story`, which a run is about: a name in paths, or the only file that no state writes."""
    nodes = [node for group in others.values() for node in group]
    for node in nodes:
        if "{story}" in (text(node) or ""):
            return {"story": new_node("string", node)}
    files = {str(node.value): node for node in nodes if not set(str(node.value)) & set("*?[")}
    if len(files) != 1:
        return {}
    [(path, node)] = files.items()
    return {"story": new_node({"type": "path", "default": path, "exists": True}, node)}


def _path(node: Node, inputs: Mapping[str, Any]) -> str:
    path = (text(node) or "").replace("{date}", "${{ run.date }}")
    story = inputs.get("story")
    if story is not None and fields(story).get("default", node).value == path and "default" in fields(story):
        return "${{ inputs.story }}"
    return path.replace("{story}", "${{ inputs.story }}")

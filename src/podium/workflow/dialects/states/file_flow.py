"""Finds which state writes the file that another one reads, so that a prompt names only existing files (R049)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from podium.core.globs import glob_matches
from podium.fast_dataclass import dataclass
from podium.workflow.dialects.states.states import States, kind_of
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
    working_dir: str = ""
    """The folder that inputs and outputs are in."""

    def makers(self, state: Node) -> list[str]:
        return [self.states.names[name] for name in self.makers_of.get(id(state), ())]

    def context(self, state: Node) -> list[Node]:
        return [
            new_node(_with_values(self.path(node), self.inputs), node)
            for node in self.others.get(id(state), ())
        ]

    def path(self, node: Node) -> str:
        """The path of an input or output in the project."""
        return _in_folder(self.working_dir, node)

    def shown_to(self, state: Node) -> list[str]:
        return [self._shown(name) for name in self.makers_of.get(id(state), ())]

    def placeholders(self, before: int | None = None) -> dict[str, str]:
        """The words in braces of persona files: outputs by the name of their folder, and who wrote the first of them.

        `before` limits them to the outputs of so many states; the words of later ones are empty.
        """
        outputs = {name: text(fields(state).get("output")) for name, state in self.states.work.items()}
        sections: dict[str, list[str]] = {}
        for index, (name, output) in enumerate(outputs.items()):
            folder = posixpath.dirname(output or "").rpartition("/")[2]
            if folder.isidentifier():
                parts = sections.setdefault(folder, [])
                parts += [self._shown(name)] if before is None or index < before else []
        words = {word: "\n".join(parts) for word, parts in sections.items()}
        fan_outs = [index for index, name in enumerate(outputs) if "agents" in fields(self.states.work[name])]
        if not fan_outs:
            return words
        is_known = before is None or fan_outs[0] < before
        return {**words, "agent_list": self._agents_of(list(outputs)[fan_outs[0]]) if is_known else ""}

    def _agents_of(self, name: str) -> str:
        members = f"default(steps.{self.states.names[name]}.members, [])"
        comma = "{% if not loop.last %}, {% endif %}"
        return f"{{% for member in {members} %}}{{{{ member.name }}}}{comma}{{% endfor %}}"

    def _shown(self, name: str) -> str:
        step, title = self.states.names[name], name.replace("-", " ")
        state = self.states.work[name]
        if "agents" not in fields(state) and kind_of(state) != "gate":
            return f"{{% if steps.{step}.text is defined %}}\n## {title}\n{{{{ steps.{step}.text | fence }}}}\n{{% endif %}}"
        return (
            f"{{% for member in default(steps.{step}.members, []) %}}\n## {title} from {{{{ member.name }}}}\n"
            "{{ member.text | fence }}\n{% endfor %}"
        )


def file_flow(states: States, working_dir: str = "") -> FileFlow:
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
    return FileFlow(states, makers, others, _inputs(others, working_dir), working_dir)


def _makers(pattern: Node, earlier: Mapping[str, Node]) -> list[str]:
    return [maker for maker, output in earlier.items() if _matches(pattern, output)]


def _matches(pattern: Node, output: Node) -> bool:
    path = (text(output) or "").replace("{agent}", "agent")
    return glob_matches(text(pattern) or "", path)


def _in_folder(working_dir: str, node: Node) -> str:
    return posixpath.join(working_dir, text(node) or "")


def _inputs(others: Mapping[int, tuple[Node, ...]], working_dir: str) -> dict[str, Any]:
    """The input `story`, which a run is about: a name in paths, or the only file that no state writes."""
    nodes = [node for group in others.values() for node in group]
    for node in nodes:
        if "{story}" in (text(node) or ""):
            return {"story": new_node("string", node)}
    files = {_in_folder(working_dir, node): node for node in nodes if not set(str(node.value)) & set("*?[")}
    if len(files) != 1:
        return {}
    [(path, node)] = files.items()
    return {"story": new_node({"type": "path", "default": path, "exists": True}, node)}


def _with_values(path: str, inputs: Mapping[str, Any]) -> str:
    story = fields(inputs.get("story")).get("default")
    if story is not None and story.value == path:
        return "${{ inputs.story }}"
    return path.replace("{date}", "${{ run.date }}").replace("{story}", "${{ inputs.story }}")

"""Finds which state writes the file that another one reads, so that a prompt names only existing files (R049)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from podium.core.globs import glob_matches
from podium.fast_dataclass import dataclass
from podium.workflow.dialects.states.states import States, kind_of
from podium.workflow.dialects.translation import Names, new_node
from podium.workflow.source.nodes import Node, fields, items, text

STORY: Final = "story"
Agents: TypeAlias = tuple[str, ...] | None
"""Agents of a fan-out, by their names in the file; None is all of them."""


@dataclass(frozen=True, slots=True)
class FileFlow:
    states: States
    makers_of: Mapping[int, Mapping[str, Agents]]
    """By the identity of a state: the earlier states whose output it reads, each with the agents that it is limited to."""
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

    def output_path(self, node: Node) -> str:
        """The path of an output, with `{agent}` as it is."""
        return _with_values(self.path(node), self.inputs)

    def shown_to(self, state: Node) -> list[str]:
        return [self._shown(name, agents) for name, agents in self.makers_of.get(id(state), {}).items()]

    def meant(self, state: Node) -> str | None:
        """For a state that judges whole states: whose outputs it reads, if it does not read all of them."""
        parts = [
            f"of {name} only the output of {', '.join(agents)}"
            for name, agents in self.makers_of.get(id(state), {}).items()
            if agents is not None
        ]
        return f"Judge {'; '.join(parts)}." if parts else None

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

    def _shown(self, name: str, agents: Agents = None) -> str:
        step, title = self.states.names[name], name.replace("-", " ")
        state = self.states.work[name]
        if "agents" not in fields(state) and kind_of(state) != "gate":
            return f"{{% if steps.{step}.text is defined %}}\n## {title}\n{{{{ steps.{step}.text | fence }}}}\n{{% endif %}}"
        shown = f"\n## {title} from {{{{ member.name }}}}\n{{{{ member.text | fence }}}}\n"
        if agents is not None:
            names = ", ".join(f"'{self.states.agent(agent)}'" for agent in agents)
            shown = f"{{% if member.name in [{names}] %}}{shown}{{% endif %}}"
        return f"{{% for member in default(steps.{step}.members, []) %}}{shown}{{% endfor %}}"


def file_flow(states: States, working_dir: str = "") -> FileFlow:
    makers: dict[int, dict[str, Agents]] = {}
    others: dict[int, tuple[Node, ...]] = {}
    earlier: dict[str, Node] = {}
    for name, state in states.work.items():
        patterns = items(fields(state).get("input"))
        writers = {id(node): _makers(node, earlier) for node in patterns}
        makers[id(state)] = {}
        for node in patterns:
            for maker, agents in writers[id(node)].items():
                makers[id(state)][maker] = _both(agents, makers[id(state)].get(maker, ()))
        others[id(state)] = tuple(node for node in patterns if not writers[id(node)])
        if text(fields(state).get("output")) is not None:
            earlier[name] = state
    return FileFlow(states, makers, others, _inputs(others, earlier, working_dir), working_dir)


def _both(first: Agents, second: Agents) -> Agents:
    return None if first is None or second is None else tuple(dict.fromkeys((*second, *first)))


def _makers(pattern: Node, earlier: Mapping[str, Node]) -> dict[str, Agents]:
    """The states that write a file which the pattern names, and which of their agents do if not all."""
    makers: dict[str, Agents] = {}
    for name, state in earlier.items():
        path = text(fields(state)["output"]) or ""
        agents = [str(node.value) for node in items(fields(state).get("agents", fields(state).get("agent")))]
        if "{agent}" not in path or not agents:
            agents = ["agent"]
        matching = [
            each for each in agents if glob_matches(text(pattern) or "", path.replace("{agent}", each))
        ]
        if matching:
            makers[name] = None if len(matching) == len(agents) else tuple(matching)
    return makers


def _in_folder(working_dir: str, node: Node) -> str:
    return posixpath.join(working_dir, text(node) or "")


def _inputs(
    others: Mapping[int, tuple[Node, ...]], written: Mapping[str, Node], working_dir: str
) -> dict[str, Any]:
    """The input `story`, which a run is about: a name in paths, or the only file that no state writes.

    Several such files are inputs by their names. Each has to exist when a run starts.
    """
    # What a later state writes is there from the second round on.
    nodes = [node for group in others.values() for node in group if not _makers(node, written)]
    named = next((node for node in nodes if f"{{{STORY}}}" in (text(node) or "")), None)
    files = {_in_folder(working_dir, node): node for node in nodes if not set(str(node.value)) & set("*?[{")}
    inputs = {} if named is None else {STORY: new_node("string", named)}
    names = Names(reserved=inputs)
    for path, node in files.items():
        stem = posixpath.basename(path).partition(".")[0]
        word = path if names.get(stem) is not None else stem
        name = STORY if len(files) == 1 and named is None else names.add(word)
        inputs[name] = new_node({"type": "path", "default": path, "exists": True}, node)
    return inputs


def _with_values(path: str, inputs: Mapping[str, Any]) -> str:
    for name, declared in inputs.items():
        default = fields(declared).get("default")
        if default is not None and default.value == path:
            return f"${{{{ inputs.{name} }}}}"
    return path.replace("{date}", "${{ run.date }}").replace(f"{{{STORY}}}", f"${{{{ inputs.{STORY} }}}}")

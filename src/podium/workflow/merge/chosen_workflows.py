"""Carries out `workflow: {file: ${{ ... }}, of: [...]}`: a block with one step for each file, of which the value chooses one.

The files are known when the workflow is loaded, so each is checked, drawn and priced like any other. With `in: ${{ ... }}` the
value chooses the repository of the file in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from podium.workflow.merge.step_nodes import map_parts, nested_parts
from podium.workflow.source.nodes import Node, fields, items, node_from_value, text, with_field, without_keys

_INSERT = re.compile(r"([^$]*)\$\{\{((?:[^}]|\}(?!\}))*)\}\}([^$]*)")
_INSIDE = ("workflow", "with")
"""The keys of the step that its files get; all others belong to the block."""


def expand_chosen_workflows(root: Node) -> Node:
    if any(_choice(part) for part in nested_parts(root)):
        existing = {
            name for part in (root, *nested_parts(root)) for name in fields(fields(part).get("steps"))
        }
        return map_parts(root, partial(_expanded, existing))
    return root


class _Choice(NamedTuple):
    expression: str
    values: Mapping[str, tuple[str, ...]]
    """For each file or folder, the values of the expression that choose it."""
    file: str = ""
    """The file in each of the folders; empty if files are chosen."""

    def workflow(self, chosen: str) -> Any:
        return {"file": self.file, "in": chosen} if self.file else chosen


def _choice(step: Node) -> _Choice | None:
    """None for any other step, and for a mistake, which the schema reports."""
    choice = fields(fields(step).get("workflow"))
    chosen = "in" if "in" in choice else "file"
    match = _INSERT.fullmatch(text(choice.get(chosen)) or "")
    files = tuple([text(item) or "" for item in items(choice.get("of"))])
    names = {_name(file, chosen) for file in files}
    if (
        match is None
        or choice.keys() != {"file", "of", chosen}
        or "" in files
        or len(names) < max(2, len(files))
    ):
        return None
    values = {file: tuple(_middles(file, match[1], match[3])) for file in files}
    file = text(choice["file"]) or "" if chosen == "in" else ""
    if not all(values.values()) or "${{" in file or (chosen == "in" and not file):
        return None
    return _Choice(match[2].strip(), values, file)


def _middles(file: str, before: str, after: str) -> Iterator[str]:
    """The text in place of the insert, in the path of the file or in its name."""
    for name in (file, PurePosixPath(file).stem):
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
            yield name[len(before) : len(name) - len(after)]


def _name(path: str, chosen: str) -> str:
    """The name of the step: that of a file, or all of the way to a folder, because repositories may have the same name."""
    word = PurePosixPath(path).stem if chosen == "file" else path.strip("./")
    return re.sub(r"[^a-z0-9_]", "_", word.lower()).lstrip("_0123456789")


def _step_names(choice: _Choice, existing: Collection[str]) -> dict[str, str]:
    """The name of the step of each file or folder; none that another step of the workflow has."""
    chosen = "in" if choice.file else "file"
    return {path: name + "_" if (name := _name(path, chosen)) in existing else name for path in choice.values}


def _expanded(existing: Collection[str], step: Node) -> Node:
    choice = _choice(step)
    if choice is None:
        return step
    expression, files = choice.expression, choice.values
    workflow = fields(step)["workflow"]
    passed = fields(step).get("with")
    steps: dict[str, Node] = {}
    names = _step_names(choice, existing)
    for file in files:
        call: dict[str, Any] = {
            # Not `==`, because a choice of the expression need not be the whole path of a file.
            "when": f"contains([{', '.join(map(_quoted, choice.values[file]))}], {expression})",
            "workflow": choice.workflow(file),
            "on": {"passed": "end"},
        }
        node = node_from_value(call, workflow.place)
        steps[names[file]] = node if passed is None else with_field(node, "with", passed)
    one_of = ", ".join(values[-1] for values in choice.values.values())
    refusal = {"fail": f'"${{{{ {expression} }}}}" chooses no workflow; there are {one_of}'}
    steps["no_such_file"] = node_from_value({"check": "true", "on": {"passed": refusal}}, workflow.place)
    result = "null"
    for file in files:
        result = f"default(steps.{names[file]}.output, {result})"
    block = without_keys(step, *_INSIDE)
    if "output" not in fields(step):
        block = with_field(block, "output", node_from_value(f"${{{{ {result} }}}}", workflow.place))
    return with_field(block, "steps", Node(steps, workflow.place, workflow.key))


def _quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"

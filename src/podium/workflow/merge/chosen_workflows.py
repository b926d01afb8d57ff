"""Carries out `workflow: {file: ${{ ... }}, of: [...]}`: a block with one step for each file, of which the value chooses one.

The files are known when the workflow is loaded, so each is checked, drawn and priced like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from podium.workflow.merge.step_nodes import map_parts, nested_parts
from podium.workflow.source.nodes import Node, fields, items, node_from_value, text, with_field, without_keys

_INSERT = re.compile(r"([^$]*)\$\{\{((?:[^}]|\}(?!\}))*)\}\}([^$]*)")
_INSIDE = ("workflow", "with")
"""The keys of the step that its files get; all others belong to the block."""


def expand_chosen_workflows(root: Node) -> Node:
    if any(_choice(part) for part in nested_parts(root)):
        return map_parts(root, _expanded)
    return root


class _Choice(NamedTuple):
    expression: str
    values: Mapping[str, tuple[str, ...]]
    """For each file, the values of the expression that choose it."""


def _choice(step: Node) -> _Choice | None:
    """None for any other step, and for a mistake, which the schema reports."""
    choice = fields(fields(step).get("workflow"))
    match = _INSERT.fullmatch(text(choice.get("file")) or "")
    files = tuple([text(item) or "" for item in items(choice.get("of"))])
    names = {_name(file) for file in files}
    if match is None or choice.keys() != {"file", "of"} or "" in files or len(names) < max(2, len(files)):
        return None
    values = {file: tuple(_middles(file, match[1], match[3])) for file in files}
    return _Choice(match[2].strip(), values) if all(values.values()) else None


def _middles(file: str, before: str, after: str) -> Iterator[str]:
    """The text in place of the insert, in the path of the file or in its name."""
    for name in (file, PurePosixPath(file).stem):
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
            yield name[len(before) : len(name) - len(after)]


def _name(file: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", PurePosixPath(file).stem.lower()).lstrip("_0123456789")


def _expanded(step: Node) -> Node:
    choice = _choice(step)
    if choice is None:
        return step
    expression, files = choice.expression, choice.values
    workflow = fields(step)["workflow"]
    passed = fields(step).get("with")
    steps: dict[str, Node] = {}
    for file in files:
        call: dict[str, Any] = {
            # Not `==`, because a choice of the expression need not be the whole path of a file.
            "when": f"contains([{', '.join(map(_quoted, choice.values[file]))}], {expression})",
            "workflow": file,
            "on": {"passed": "end"},
        }
        node = node_from_value(call, workflow.place)
        steps[_name(file)] = node if passed is None else with_field(node, "with", passed)
    one_of = ", ".join(values[-1] for values in choice.values.values())
    refusal = {"fail": f'"${{{{ {expression} }}}}" chooses no workflow; there are {one_of}'}
    steps["no_such_file"] = node_from_value({"check": "true", "on": {"passed": refusal}}, workflow.place)
    result = "null"
    for file in files:
        result = f"default(steps.{_name(file)}.output, {result})"
    block = without_keys(step, *_INSIDE)
    if "output" not in fields(step):
        block = with_field(block, "output", node_from_value(f"${{{{ {result} }}}}", workflow.place))
    return with_field(block, "steps", Node(steps, workflow.place, workflow.key))


def _quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"

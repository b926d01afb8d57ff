"""Removes disabled steps from a merged document and redirects every route that led to them to the following step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.merge.step_nodes import map_parts, needs_node, nested_parts
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import Node, fields, items, scalars, text, with_field

LISTS_OF_STEPS: Final = ("of", "show")
"""Keys that list steps; a removed step is removed from them."""

SECTIONS: Final = ("steps", "finally", "gates")
READ: Final = r"(?<![\w.])steps(?:\.|\[\s*['\"])({names})\b"


@dataclass(frozen=True, slots=True)
class RemainingDocument:
    root: Node
    problems: tuple[Problem, ...] = ()


def remove_disabled(root: Node, entries: tuple[Node, ...]) -> RemainingDocument:
    """The document without the steps named by `entries`."""
    steps = fields(fields(root).get("steps"))
    refused = dict(_refusals(steps, entries))
    removed = {name: entry for entry in entries if (name := text(entry)) and name not in refused}
    if not removed:
        return RemainingDocument(root, tuple(refused.values()))
    remaining = {name: node for name, node in steps.items() if name not in removed}
    is_graph = any("needs" in fields(node) for node in steps.values())
    reroute = _reroute_in_graph if is_graph else _reroute_in_sequence
    remaining = {name: reroute(name, node, steps, removed) for name, node in remaining.items()}
    block = replace(fields(root)["steps"], value=remaining)
    document = map_parts(with_field(root, "steps", block), partial(_shorten_lists, removed))
    return RemainingDocument(document, (*refused.values(), *_read_problems(document, removed)))


def _refusals(steps: Mapping[str, Node], entries: tuple[Node, ...]) -> Iterator[tuple[str, Problem]]:
    for entry in entries:
        name = text(entry) or ""
        if name not in steps:
            message = f'disable: step "{name}" does not exist'
            yield name, Problem(*entry.place, 33, message, did_you_mean(name, steps))
        elif (required := fields(steps[name]).get("required")) is not None and required.value is True:
            hint = f"{required.key} requires it; override that with {name}: {{required: false}}"
            yield name, Problem(*entry.place, 33, f'step "{name}" is required and cannot be disabled', hint)


def _reroute_in_sequence(
    name: str, step: Node, steps: Mapping[str, Node], removed: Mapping[str, Node]
) -> Node:
    on = fields(step).get("on")
    routes: dict[str, Node] = {}
    for outcome, route in fields(on).items():
        target = text(route)
        if target is None or target not in removed:
            routes[outcome] = route
            continue
        successor = _successor(target, steps, removed, frozenset())
        # A step that would lead to itself has no step to pass its feedback to; it fails instead.
        if successor.value != name:
            routes[outcome] = replace(route, value=successor.value, other_places=(removed[target].place,))
    return step if on is None else with_field(step, "on", replace(on, value=routes))


def _successor(
    name: str, steps: Mapping[str, Node], removed: Mapping[str, Node], visited: frozenset[str]
) -> Node:
    """The step that followed this one when it passed, skipping removed steps."""
    step = steps[name]
    order = list(steps)
    later = order[order.index(name) + 1 :]
    target_node = Node(later[0] if later else "end", step.place, step.key)
    passed = fields(fields(step).get("on")).get("passed")
    if passed is not None and text(passed) != "next":
        target_node = passed
    target = text(target_node)
    if target is None or target not in removed:
        return target_node
    if target in visited:
        return Node("end", step.place, step.key)
    return _successor(target, steps, removed, visited | {name})


def _reroute_in_graph(name: str, step: Node, steps: Mapping[str, Node], removed: Mapping[str, Node]) -> Node:
    """Steps inherit the needs of removed steps; a route back leads to the first step that needed the removed one."""
    needs = needs_node(step)
    if needs is not None:
        remaining = replace(needs, value=_inherited_needs(needs, steps, removed, frozenset()))
        outer = fields(step)["needs"]
        step = with_field(step, "needs", remaining if outer is needs else with_field(outer, "of", remaining))
    on = fields(step).get("on")
    routes: dict[str, Node] = {}
    for outcome, route in fields(on).items():
        if text(route) not in removed:
            routes[outcome] = route
            continue
        above = _ancestors(name, steps)
        heirs = [
            other
            for other in steps
            if other in above - removed.keys() and text(route) in _needs(steps[other])
        ]
        if heirs:
            routes[outcome] = replace(route, value=heirs[0], other_places=(removed[str(route.value)].place,))
    return step if on is None else with_field(step, "on", replace(on, value=routes))


def _inherited_needs(
    needs: Node, steps: Mapping[str, Node], removed: Mapping[str, Node], visited: frozenset[str]
) -> tuple[Node, ...]:
    inherited: dict[str | None, Node] = {}
    for item in items(needs):
        name = text(item)
        if name is None or name not in removed:
            inherited.setdefault(name, item)
        elif name not in visited:
            inner = needs_node(steps[name]) or replace(needs, value=())
            for need in _inherited_needs(inner, steps, removed, visited | {name}):
                inherited.setdefault(text(need), need)
    return tuple(inherited.values())


def _needs(step: Node) -> set[str]:
    return {name for item in items(needs_node(step)) if (name := text(item))}


def _ancestors(name: str, steps: Mapping[str, Node]) -> set[str]:
    ancestors: set[str] = set()
    pending = _needs(steps[name])
    while pending:
        ancestors |= pending
        pending = {
            need for ancestor in pending & steps.keys() for need in _needs(steps[ancestor])
        } - ancestors
    return ancestors


def _shorten_lists(removed: Mapping[str, Node], step: Node) -> Node:
    """A step whose lists of steps to judge or to show omit the removed steps."""
    for key in LISTS_OF_STEPS:
        list_node = fields(step).get(key)
        if list_node is not None and isinstance(list_node.value, tuple):
            remaining = tuple(item for item in list_node.value if text(item) not in removed)
            # An `of` that would become empty stays and is reported as a read.
            if remaining or key == "show":
                step = with_field(step, key, replace(list_node, value=remaining))
    return step


def _read_problems(root: Node, removed: Mapping[str, Node]) -> Iterator[Problem]:
    pattern = re.compile(READ.format(names="|".join(map(re.escape, removed))))
    for reader, node in _readers(root):
        reads: dict[str, Node] = {}
        for scalar in scalars(node):
            for match in pattern.finditer(scalar.value if isinstance(scalar.value, str) else ""):
                reads.setdefault(match[1], scalar)
        for step in (node, *nested_parts(node)):
            for judged in items(fields(step).get("of")):
                reads.setdefault(str(judged.value), judged)
        for name, scalar in reads.items():
            if name in removed:
                hint = f'it is read at {scalar.place}; change "{reader}", or disable it too'
                yield Problem(*removed[name].place, 33, f'disabled step "{name}" is read by "{reader}"', hint)


def _readers(root: Node) -> Iterator[tuple[str, Node]]:
    for section in SECTIONS:
        yield from fields(fields(root).get(section)).items()
    if "outputs" in fields(root):
        yield "outputs", fields(root)["outputs"]

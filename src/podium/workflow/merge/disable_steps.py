"""Takes steps out of a merged document and leads every route that went to them to what followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.merge.step_nodes import below, changed
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import Node, fields, items, scalars, text, with_field

LISTS_OF_STEPS: Final = ("of", "show")
"""Keys that name steps to look at; a step that is gone is left out of them."""

SECTIONS: Final = ("steps", "finally", "gates")
READ: Final = r"(?<![\w.])steps(?:\.|\[\s*['\"])({names})\b"


@dataclass(frozen=True, slots=True)
class Remaining:
    root: Node
    problems: tuple[Problem, ...] = ()


def remove_disabled(root: Node, entries: tuple[Node, ...]) -> Remaining:
    """The document without the steps that `entries` name."""
    steps = fields(fields(root).get("steps"))
    refused = dict(_refusals(steps, entries))
    gone = {name: entry for entry in entries if (name := text(entry)) and name not in refused}
    if not gone:
        return Remaining(root, tuple(refused.values()))
    kept = {name: node for name, node in steps.items() if name not in gone}
    is_graph = any("needs" in fields(node) for node in steps.values())
    reroute = _in_graph if is_graph else _in_sequence
    kept = {name: reroute(name, node, steps, gone) for name, node in kept.items()}
    block = replace(fields(root)["steps"], value=kept)
    rest = changed(with_field(root, "steps", block), partial(_without_lists, gone))
    return Remaining(rest, (*refused.values(), *_reads(rest, gone)))


def _refusals(steps: Mapping[str, Node], entries: tuple[Node, ...]) -> Iterator[tuple[str, Problem]]:
    for entry in entries:
        name = text(entry) or ""
        if name not in steps:
            message = f'disable: step "{name}" does not exist'
            yield name, Problem(*entry.place, 33, message, did_you_mean(name, steps))
        elif (required := fields(steps[name]).get("required")) is not None and required.value is True:
            hint = f"{required.key} says so; a child lifts it with {name}: {{required: false}}"
            yield name, Problem(*entry.place, 33, f'"{name}" is required', hint)


def _in_sequence(name: str, step: Node, steps: Mapping[str, Node], gone: Mapping[str, Node]) -> Node:
    on = fields(step).get("on")
    routes: dict[str, Node] = {}
    for outcome, route in fields(on).items():
        target = text(route)
        if target is None or target not in gone:
            routes[outcome] = route
            continue
        onward = _follower(target, steps, gone, frozenset())
        # A step that would lead to itself has nobody left to hand its feedback to: it fails instead.
        if onward.value != name:
            routes[outcome] = replace(route, value=onward.value, other_places=(gone[target].place,))
    return step if on is None else with_field(step, "on", replace(on, value=routes))


def _follower(name: str, steps: Mapping[str, Node], gone: Mapping[str, Node], seen: frozenset[str]) -> Node:
    """What control reached after this step when it had passed."""
    here = steps[name]
    order = list(steps)
    later = order[order.index(name) + 1 :]
    onward = Node(later[0] if later else "end", here.place, here.key)
    passed = fields(fields(here).get("on")).get("passed")
    if passed is not None and text(passed) != "next":
        onward = passed
    target = text(onward)
    if target is None or target not in gone:
        return onward
    if target in seen:
        return Node("end", here.place, here.key)
    return _follower(target, steps, gone, seen | {name})


def _in_graph(name: str, step: Node, steps: Mapping[str, Node], gone: Mapping[str, Node]) -> Node:
    """Needs are inherited; a way back leads to the first step that needed the one that is gone."""
    needs = fields(step).get("needs")
    if needs is not None:
        step = with_field(step, "needs", replace(needs, value=_inherited(needs, steps, gone, frozenset())))
    on = fields(step).get("on")
    routes: dict[str, Node] = {}
    for outcome, route in fields(on).items():
        if text(route) not in gone:
            routes[outcome] = route
            continue
        above = _ancestors(name, steps)
        heirs = [
            other for other in steps if other in above - gone.keys() and text(route) in _needs(steps[other])
        ]
        if heirs:
            routes[outcome] = replace(route, value=heirs[0], other_places=(gone[str(route.value)].place,))
    return step if on is None else with_field(step, "on", replace(on, value=routes))


def _inherited(
    needs: Node, steps: Mapping[str, Node], gone: Mapping[str, Node], seen: frozenset[str]
) -> tuple[Node, ...]:
    found: dict[str | None, Node] = {}
    for item in items(needs):
        name = text(item)
        if name is None or name not in gone:
            found.setdefault(name, item)
        elif name not in seen:
            inner = fields(steps[name]).get("needs") or replace(needs, value=())
            for heir in _inherited(inner, steps, gone, seen | {name}):
                found.setdefault(text(heir), heir)
    return tuple(found.values())


def _needs(step: Node) -> set[str]:
    return {name for item in items(fields(step).get("needs")) if (name := text(item))}


def _ancestors(name: str, steps: Mapping[str, Node]) -> set[str]:
    found: set[str] = set()
    ahead = _needs(steps[name])
    while ahead:
        found |= ahead
        ahead = {need for one in ahead & steps.keys() for need in _needs(steps[one])} - found
    return found


def _without_lists(gone: Mapping[str, Node], step: Node) -> Node:
    """A step whose lists of steps to judge or to show no longer name those that are gone."""
    for key in LISTS_OF_STEPS:
        listed = fields(step).get(key)
        if listed is not None and isinstance(listed.value, tuple):
            kept = tuple(item for item in listed.value if text(item) not in gone)
            # An `of` that loses all its steps stays, and is told as a read.
            if kept or key == "show":
                step = with_field(step, key, replace(listed, value=kept))
    return step


def _reads(root: Node, gone: Mapping[str, Node]) -> Iterator[Problem]:
    pattern = re.compile(READ.format(names="|".join(map(re.escape, gone))))
    for reader, node in _readers(root):
        read: dict[str, Node] = {}
        for scalar in scalars(node):
            for match in pattern.finditer(scalar.value if isinstance(scalar.value, str) else ""):
                read.setdefault(match[1], scalar)
        for step in (node, *below(node)):
            for judged in items(fields(step).get("of")):
                read.setdefault(str(judged.value), judged)
        for name, scalar in read.items():
            if name in gone:
                hint = f'it is read at {scalar.place}; change "{reader}", or disable it too'
                yield Problem(*gone[name].place, 33, f'disabled step "{name}" is read by "{reader}"', hint)


def _readers(root: Node) -> Iterator[tuple[str, Node]]:
    for section in SECTIONS:
        yield from fields(fields(root).get(section)).items()
    if "outputs" in fields(root):
        yield "outputs", fields(root)["outputs"]

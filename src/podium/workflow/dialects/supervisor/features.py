"""Translates features of the supervisor format: lists of phases and components with ids become maps by name."""

from __future__ import annotations

from typing import Any

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.supervisor.interfaces import interface
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text


def feature(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "a feature", keys.FEATURE)
    entries = fields(node)
    phases = sorted(items(entries.get("phases")), key=_sequence)
    _check_sequence(phases, translation)
    return new_node(
        {
            "id": entries.get("id"),
            "title": entries.get("title"),
            "description": entries.get("description"),
            "phases": {_name(each): _phase(each, translation) for each in phases},
        },
        node,
    )


def phase(node: Node, translation: Translation) -> Node:
    """A planner's output for one phase, as a feature with only that phase."""
    return new_node({"phases": {"phase": _phase(node, translation)}}, node)


def _sequence(node: Node) -> Any:
    number = fields(node).get("sequence")
    return number.value if number is not None and isinstance(number.value, int) else 0


def _check_sequence(phases: list[Node], translation: Translation) -> None:
    """Phases are done one after the other, so their numbers are 1, 2, 3; another number is reported as a slip."""
    numbers = [fields(each).get("sequence") for each in phases]
    if all(number is None for number in numbers):
        return
    for place, (each, number) in enumerate(zip(phases, numbers, strict=True), 1):
        if number is None:
            translation.add_problem(
                each, 2, f'phase "{_name(each)}" has no sequence, the others have', f"write sequence: {place}"
            )
        elif number.value != place:
            message = f'phase "{_name(each)}" has sequence {number.value}, and is number {place} in the order'
            translation.add_warning(number, message, "number the phases 1, 2, 3")


def _name(node: Node) -> str:
    entries = fields(node)
    return name_of(text(entries.get("id", entries.get("name"))) or "")


def _phase(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "a phase", keys.PHASE)
    entries = fields(node)
    return new_node(
        {
            "title": entries.get("title"),
            "description": entries.get("description"),
            "interfaces": {
                _name(each): interface(each, translation) for each in items(entries.get("interfaces"))
            }
            or None,
            "components": {
                _name(each): _component(each, translation) for each in items(entries.get("components"))
            },
        },
        node,
    )


def _component(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "a component", keys.COMPONENT)
    entries = fields(node)
    needs = [
        new_node(".".join(map(name_of, str(each.value).split("."))), each)
        for each in items(entries.get("depends_on"))
    ]
    description = entries.get("description", entries.get("title"))
    return new_node(
        {"description": description, "touches": entries.get("files"), "needs": needs or None}, node
    )

"""Features of the supervisor format: lists of phases and components with ids, as maps by name."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text

FEATURE: Final = ("id", "title", "description", "phases")
PHASE: Final = ("id", "title", "description", "sequence", "components", "interfaces")
COMPONENT: Final = ("id", "title", "description", "files", "depends_on")
INTERFACE: Final = ("name", "type", "definition")
ENDINGS: Final = {
    "typescript_interface": "ts",
    "openapi": "yaml",
    "python_protocol": "pyi",
    "json_schema": "json",
}


def feature(node: Node, page: Translation) -> Node:
    page.check_keys(node, "a feature", FEATURE)
    said = fields(node)
    phases = sorted(items(said.get("phases")), key=_sequence)
    return new_node(
        {
            "id": said.get("id"),
            "title": said.get("title"),
            "description": said.get("description"),
            "phases": {_name(each): _phase(each, page) for each in phases},
        },
        node,
    )


def phase(node: Node, page: Translation) -> Node:
    """What a planner gave for one phase, as a feature that has no other."""
    return new_node({"phases": {"phase": _phase(node, page)}}, node)


def _sequence(node: Node) -> Any:
    number = fields(node).get("sequence")
    return number.value if number is not None and isinstance(number.value, int) else 0


def _name(node: Node) -> str:
    said = fields(node)
    return name_of(text(said.get("id", said.get("name"))) or "")


def _phase(node: Node, page: Translation) -> Node:
    page.check_keys(node, "a phase", PHASE)
    said = fields(node)
    return new_node(
        {
            "title": said.get("title"),
            "description": said.get("description"),
            "interfaces": {_name(each): _interface(each, page) for each in items(said.get("interfaces"))}
            or None,
            "components": {_name(each): _component(each, page) for each in items(said.get("components"))},
        },
        node,
    )


def _component(node: Node, page: Translation) -> Node:
    page.check_keys(node, "a component", COMPONENT)
    said = fields(node)
    needs = [
        new_node(".".join(map(name_of, str(each.value).split("."))), each)
        for each in items(said.get("depends_on"))
    ]
    described = said.get("description", said.get("title"))
    return new_node({"description": described, "touches": said.get("files"), "needs": needs or None}, node)


def _interface(node: Node, page: Translation) -> Node:
    page.check_keys(node, "an interface", INTERFACE)
    said = fields(node)
    ending = ENDINGS.get(text(said.get("type")) or "", "txt")
    return new_node({"file": f"interfaces/{_name(node)}.{ending}", "text": said.get("definition")}, node)

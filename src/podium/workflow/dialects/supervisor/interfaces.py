"""Translates an interface by its type: the file it is written to, and the program that checks it after each component."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, text

FILE: Final = "{file}"
PATHS: Final = re.compile(r"\s*/\S*:")
"""An OpenAPI definition that only has the paths."""


@dataclass(frozen=True, slots=True)
class InterfaceType:
    path: str
    check: tuple[str, ...]
    """Of the whole project where the program needs it, to see that the implementation fits; else of the file."""


TYPESCRIPT: Final = InterfaceType("types/{name}.d.ts", ("tsc", "--noEmit", "--project", "."))
OPENAPI: Final = InterfaceType("api/{name}.yaml", ("openapi-spec-validator", FILE))
JSON_SCHEMA: Final = InterfaceType("schemas/{name}.json", ("check-jsonschema", "--check-metaschema", FILE))
PYTHON: Final = InterfaceType("interfaces/{name}.pyi", ("mypy", "."))
GO: Final = InterfaceType("interfaces/{name}.go", ("go", "vet", "./..."))
TYPES: Final = {
    "typescript": TYPESCRIPT,
    "typescript_interface": TYPESCRIPT,
    "openapi": OPENAPI,
    "json_schema": JSON_SCHEMA,
    "python": PYTHON,
    "python_protocol": PYTHON,
    "go": GO,
    "go_interface": GO,
}
UNTYPED: Final = InterfaceType("interfaces/{name}.txt", ())


def interface(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "an interface", keys.INTERFACE)
    entries = fields(node)
    kind = entries.get("type")
    if kind is not None and kind.value not in TYPES:
        message = f'"{kind.value}" is not a type of interface'
        hint = did_you_mean(str(kind.value), TYPES) or f"use one of {', '.join(TYPES)}"
        translation.add_problem(kind, 2, message, hint)
    chosen = UNTYPED if kind is None else TYPES.get(str(kind.value), UNTYPED)
    path = chosen.path.format(name=_file_name(text(entries.get("name")) or ""))
    check = [path if word == FILE else word for word in chosen.check]
    return new_node({"file": path, "text": _definition(entries, chosen), "check": check or None}, node)


def _file_name(name: str) -> str:
    """The name as it is written, if it can name a file."""
    return name if re.fullmatch(r"[A-Za-z][\w.-]*", name) else name_of(name)


def _definition(entries: Mapping[str, Node], chosen: InterfaceType) -> Node | None:
    """The text; paths of an API become a whole document, because no validator reads less."""
    definition = entries.get("definition")
    words = text(definition)
    if definition is None or words is None or chosen is not OPENAPI or not PATHS.match(words):
        return definition
    title = text(entries.get("name")) or "api"
    lines = "".join(f"  {line}\n" if line.strip() else "\n" for line in words.splitlines())
    whole = f'openapi: 3.0.3\ninfo: {{title: {title}, version: "1"}}\npaths:\n{lines}'
    return new_node(whole, definition)

"""The inputs of a workflow as a form: what to ask for, of which type, and what each may be."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, TypeAlias

from podium.app.values import parse_value
from podium.core.model import Input, Workflow
from podium.views.plain import as_text

Control: TypeAlias = Literal["text", "lines", "number", "checkbox", "choice", "json"]
LONG: tuple[str, ...] = ("task", "prompt", "description", "goal", "issue", "text")
"""Names of inputs that mostly take more than one line."""


class Field(NamedTuple):
    name: str
    control: Control
    required: bool
    default: str
    help: str
    choices: tuple[str, ...] = ()


def input_form(workflow: Workflow) -> tuple[Field, ...]:
    """The required inputs first, each group in the order of the file."""
    fields = [_field(each) for each in workflow.inputs]
    return tuple(sorted(fields, key=lambda field: not field.required))


def read_form(workflow: Workflow, typed: dict[str, str]) -> dict[str, Any]:
    """The values of a filled-in form; a field that was left empty keeps its default. `run` checks their types."""
    values: dict[str, Any] = {}
    for each in workflow.inputs:
        field, text = _field(each), typed.get(each.name, "")
        if field.control == "checkbox":
            values[each.name] = text in ("on", "true", "yes")
        elif text.strip():
            is_text = each.type in ("string", "path")
            values[each.name] = text.replace("\r\n", "\n") if is_text else parse_value(text, each.name)
    return values


def _field(each: Input) -> Field:
    default = each.default
    shown = (
        ""
        if default is None
        else default
        if isinstance(default, str)
        else json.dumps(default, ensure_ascii=False)
    )
    choices = tuple(as_text(choice) for choice in each.choices)
    return Field(each.name, _control(each), each.required and default is None, shown, each.help, choices)


def _control(each: Input) -> Control:
    if each.choices:
        return "choice"
    match each.type:
        case "bool":
            return "checkbox"
        case "int" | "number":
            return "number"
        case "list" | "map":
            return "json"
        case _:
            return "lines" if each.name in LONG else "text"

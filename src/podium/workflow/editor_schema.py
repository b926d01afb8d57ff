"""The JSON Schema of a workflow file, for editors: `podium schema`, read by yaml-language-server."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from podium.core.types import OUTCOMES, ROUTABLE
from podium.workflow.schema.fields import Raw, Scalar, Schema, keys_of
from podium.workflow.schema.file import Config, File
from podium.workflow.schema.step import Feature
from podium.workflow.scripted.test_file import TrialFile

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_PLAIN: Final[dict[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}

_DESCRIPTIONS: Final = {
    "after": "Templates: where a new step goes",
    "agent": "Which agent works, or a list of them that all get the task",
    "breaker": "Soft rules: a hit stops the run and asks",
    "build": "A feature of phases and components: a file, a map, or one ${{ }}",
    "check": "An expression that must be true",
    "context": "Files packed for the worker",
    "disable": "Steps of the template to leave out",
    "env": "NAME passes a variable on, NAME=value sets it",
    "extends": "The template or role this one starts from",
    "finally": "Steps that run at the end of every run",
    "for_each": "Repeats the step for each item",
    "gates": "What must pass before the step counts",
    "git": "Publishes or lands the work",
    "human": "The question a person is asked",
    "inputs": "What a run is given",
    "join": "What becomes of the trees of parallel members",
    "limits": "Hard ceilings",
    "needs": "Steps that come first; makes the block a graph",
    "on": "Where each outcome leads",
    "output": "The contract of the step, and what steps.X.output holds",
    "parallel": "How many children or iterations at once",
    "pass": "How many members must pass",
    "podium": "The version of the format",
    "protect": "Globs to leave alone",
    "recovery": "After a crash in mid-effect: run again, or ask",
    "repeat": "Runs the step again until or while an expression holds",
    "retry": "Attempts, or a preset, or a map",
    "review": "Agents judge other steps' work",
    "role": "Which role works, or a list of them",
    "run": "A command on a fresh checkout",
    "set": "Changes vars",
    "steps": "A block of steps",
    "strict": "Every possible outcome must be routed",
    "team": "Whom the worker may talk to",
    "timeout": "Per attempt",
    "touches": "Globs that may change",
    "vars": "Values that `set` may change",
    "wait": "For something outside the run",
    "when": "An expression; false skips the step",
    "with": "Values for what the verb names",
    "workflow": "Another workflow file",
}


def workflow_schema() -> Schema:
    schema = _document(File)
    # A child of a template may say nothing about steps; the template has them.
    schema["required"] = ["podium"]
    schema["anyOf"] = [{"required": ["steps"]}, {"required": ["extends"]}]
    return schema


def config_schema() -> Schema:
    return _document(Config)


def feature_schema() -> Schema:
    return _document(Feature)


def test_schema() -> Schema:
    return _document(TrialFile)


def _document(model: type[Raw]) -> Schema:
    definitions: dict[str, Schema] = {}
    root = _map(model, definitions)
    return {"$schema": DIALECT, "title": f"Podium: {model.thing}", **root, "$defs": definitions}


def _map(model: type[Raw], definitions: dict[str, Schema]) -> Schema:
    keys = keys_of(model)
    found: Schema = {
        "type": "object",
        "properties": {key: _key(key, known.type, definitions) for key, known in keys.items()},
        "additionalProperties": model.open,
    }
    required = [key for key, known in keys.items() if known.required]
    return found | {"required": required} if required else found


def _key(key: str, kind: Any, definitions: dict[str, Schema]) -> Schema:
    schema = dict(_schema(kind, definitions))
    if key == "on":
        words = [outcome for outcome in OUTCOMES if outcome in ROUTABLE]
        schema["propertyNames"] = {"enum": [*words, "else"]}
    return {"description": _DESCRIPTIONS[key], **schema} if key in _DESCRIPTIONS else schema


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        mark = inner[1]
        return (
            mark.schema if isinstance(mark, Scalar) else _any_of(mark.schema, _schema(inner[0], definitions))
        )
    if origin in (Union, UnionType):
        return _any_of(*(_schema(one, definitions) for one in inner))
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], definitions)}
    if origin is tuple:
        return {"type": "array", "items": _schema(inner[0], definitions)}
    if origin is Literal:
        return {"enum": list(inner)}
    if isinstance(kind, type) and issubclass(kind, Raw):
        return _reference(kind, definitions)
    return _PLAIN[kind]


def _any_of(*choices: Schema) -> Schema:
    """One list of choices, however the types are nested."""
    flat = [one for choice in choices for one in choice.get("anyOf", [choice])]
    return {"anyOf": [one for number, one in enumerate(flat) if one not in flat[:number]]}


def _reference(model: type[Raw], definitions: dict[str, Schema]) -> Schema:
    """A map is described once; steps contain steps."""
    name = model.__name__
    if name not in definitions:
        definitions[name] = {}
        definitions[name].update(_map(model, definitions))
    return {"$ref": f"#/$defs/{name}"}

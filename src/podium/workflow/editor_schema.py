"""The JSON Schema of a workflow file, for editors: `podium schema`, read by yaml-language-server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

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
    "after": "Templates: the step that a new step follows",
    "agent": "The agent for this step, or a list of agents that all get the task",
    "breaker": "Soft limits: reaching one pauses the run and asks a person",
    "build": "A feature of phases and components: a file, a map, or one ${{ }}",
    "cancel": "rest: when enough members have passed, the others are stopped",
    "check": "An expression that must be true",
    "context": "Files that are put into the prompt",
    "disable": "Steps of the template to remove",
    "env": "NAME passes a variable on, NAME=value sets it",
    "extends": "The template or role that this one is based on",
    "finally": "Steps that run at the end of every run",
    "for_each": "Repeats the step for each item",
    "gates": "Checks that must pass before the step passes",
    "continue_as": "Ends the run; a new run of the series starts",
    "git": "Publishes or lands the work",
    "human": "The question that a person is asked",
    "inputs": "Values that a run is started with",
    "join": "How the trees of parallel members are combined",
    "limits": "Hard limits",
    "memory": "A folder of text that outlives the run; the step reads and writes it",
    "needs": "Steps that must pass or end first; makes the block a graph",
    "on": "Where each outcome leads",
    "output": "The contract of the step's result, and the type of steps.X.output",
    "parallel": "Maximum number of children or iterations at once",
    "pass": "How many members must pass",
    "podium": "The version of the format",
    "protect": "Globs of files that must not change",
    "recovery": "After a crash during the step: run it again, or ask a person",
    "repeat": "Runs the step again until or while an expression holds",
    "retry": "Attempts, or a preset, or a map",
    "review": "Agents that judge the work of other steps",
    "role": "The role for this step, or a list of roles",
    "run": "A command on a fresh checkout",
    "set": "Sets vars",
    "steps": "A block of steps",
    "strict": "Every possible outcome must be routed",
    "team": "Agents that the worker may ask",
    "timeout": "Maximum time for one attempt",
    "touches": "Globs that may change",
    "vars": "Values that `set` may change",
    "wait": "Waits for something outside the run",
    "when": "An expression; false skips the step",
    "with": "Parameters for the role or workflow",
    "workflow": "Another workflow file",
}


AgentKeys: TypeAlias = Mapping[str, tuple[Any, ...]]
"""The types of the keys that agents declare, by name; agents may give a key different types."""


def workflow_schema(agent_keys: AgentKeys = MappingProxyType({})) -> Schema:
    schema = _document(File, agent_keys)
    # A child of a template may omit steps, because the template has them.
    schema["required"] = ["podium"]
    schema["anyOf"] = [{"required": ["steps"]}, {"required": ["extends"]}]
    return schema


def config_schema(agent_keys: AgentKeys = MappingProxyType({})) -> Schema:
    return _document(Config, agent_keys)


def feature_schema() -> Schema:
    return _document(Feature)


def test_schema() -> Schema:
    return _document(TrialFile)


def is_readable(kind: Any) -> bool:
    """Whether a value in a file can have this type."""
    try:
        _schema(kind, {})
    except (KeyError, TypeError):
        return False
    return True


def _document(model: type[Raw], agent_keys: AgentKeys = MappingProxyType({})) -> Schema:
    definitions: dict[str, Schema] = {}
    root = _map(model, definitions)
    for name, kinds in agent_keys.items():
        choices = [_schema(kind, definitions) for kind in kinds]
        definitions["Agent"]["properties"].setdefault(name, _any_of(*choices) if choices[1:] else choices[0])
    return {"$schema": DIALECT, "title": f"Podium: {model.noun}", **root, "$defs": definitions}


def _map(model: type[Raw], definitions: dict[str, Schema]) -> Schema:
    keys = keys_of(model)
    schema: Schema = {
        "type": "object",
        "properties": {key: _key(key, entry.type, definitions) for key, entry in keys.items()},
        "additionalProperties": model.open,
    }
    required = [key for key, entry in keys.items() if entry.required]
    return schema | {"required": required} if required else schema


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
        return _any_of(*(_schema(part, definitions) for part in inner))
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
    """One flat list of choices, without duplicates."""
    flat = [option for choice in choices for option in choice.get("anyOf", [choice])]
    return {"anyOf": [option for number, option in enumerate(flat) if option not in flat[:number]]}


def _reference(model: type[Raw], definitions: dict[str, Schema]) -> Schema:
    """A reference to the definition of a map, so that each map is described once; steps contain steps."""
    name = model.__name__
    if name not in definitions:
        definitions[name] = {}
        definitions[name].update(_map(model, definitions))
    return {"$ref": f"#/$defs/{name}"}

"""The JSON Schema for editors accepts what the loader accepts, and rejects what the loader refuses."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from podium.workflow.editor_schema import config_schema, feature_schema, is_readable, workflow_schema
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import File
from podium.workflow.schema.step import Step
from podium.workflow.source.yaml import load
from tests.workflow.test_examples import OWN, THEIRS

FILES = {**OWN, **{f"reference/{name}": text for name, text in THEIRS.items()}}


def schema_for(name: str) -> dict[str, Any]:
    if "features/" in name:
        return feature_schema()
    return config_schema() if name.endswith("config.yaml") else workflow_schema()


@pytest.mark.parametrize("name", FILES)
def test_every_example_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator(schema_for(name)).validate(load(FILES[name], name=name).value)


@pytest.mark.parametrize("schema", [workflow_schema(), config_schema(), feature_schema()])
def test_the_schema_is_valid_json_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"].startswith("Podium: ")


@pytest.mark.parametrize(
    "step",
    [
        {"run": "x", "promt": "y"},
        {"run": "x", "timeout": "5 minutes"},
        {"run": "x", "on": {"fails": "next"}},
        {"run": 5},
        {"run": "x", "retry": {"attempts": 0}},
        {"agent": ["a", "b"], "join": "stack"},
        {"run": "x", "pass": "most"},
        {"run": "x", "limits": {"usd": -1}},
        {"git": {"land": "x", "how": "rebase"}},
        {"wait": {"until_time": "25:00"}},
    ],
)
def test_a_mistake_is_rejected(step: dict[str, Any]) -> None:
    document = {"podium": 1, "steps": {"a": step}}
    assert not jsonschema.Draft202012Validator(workflow_schema()).is_valid(document)


@pytest.mark.parametrize(
    "document",
    [
        {"podium": 1, "steps": {}, "breaker": {"cycle": None}},
        {"podium": 1, "extends": "base"},
        {
            "podium": 1,
            "steps": {"a": {"run": "x", "retry": "aggressive", "sandbox": "none", "parallel": True}},
        },
        {"podium": 1, "steps": {"a": {"check": True}}, "agents": {"a": {"type": "x", "own": {"key": 1}}}},
    ],
)
def test_a_valid_document_is_accepted(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(workflow_schema()).validate(document)


def test_a_workflow_needs_steps_or_a_template() -> None:
    assert not jsonschema.Draft202012Validator(workflow_schema()).is_valid({"podium": 1})


def test_keys_with_a_description_have_it_in_the_schema() -> None:
    schema = workflow_schema()
    assert set(schema["properties"]) == set(known_keys(File))
    step = schema["$defs"]["Step"]["properties"]
    assert set(step) == set(known_keys(Step))
    assert step["touches"]["description"] == "Globs that may change"
    assert step["on"]["propertyNames"]["enum"][-1] == "else"


def test_keys_that_agents_declare_are_in_the_schema_with_each_of_their_types() -> None:
    keys = {"size": (int,), "flags": (str, tuple[str, ...]), "model": (int,)}
    for schema in (workflow_schema(keys), config_schema(keys)):
        properties = schema["$defs"]["Agent"]["properties"]
        assert properties["size"] == {"type": "integer"}
        assert properties["flags"] == {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        }
        assert "integer" not in str(properties["model"]), "Podium itself reads this key"


@pytest.mark.parametrize(
    ("kind", "is_fine"), [(str, True), (tuple[int, ...], True), (bytes, False), (3, False), ("str", False)]
)
def test_only_types_that_a_file_can_have_are_readable(kind: object, is_fine: bool) -> None:
    assert is_readable(kind) == is_fine

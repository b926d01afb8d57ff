"""Values that a person or a program hands to a run: from a file, typed, or as objects."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Container, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from podium.core.expressions.templates import fill
from podium.core.expressions.values import ExprError, Meter, MissingValue, as_text
from podium.core.hash_chain import RunId
from podium.core.model import Input, Workflow
from podium.core.queries.computed import entered, foreseen
from podium.errors import ConfigurationError
from podium.workflow.dialects.translation import name_of
from podium.workflow.merge.config_layers import KEYS, WEAKER_LEVELS
from podium.workflow.problems import did_you_mean, mistakes
from podium.workflow.source import yaml

ANOTHER_VALUE: Final = "give the input another value: -i NAME=VALUE"
MAX_DEPTH: Final = 200
"""Deeper than any file; a value that contains itself has no end."""


def read_values(path: Path | None) -> dict[str, Any]:
    """The map in a YAML or JSON file; nothing for no file."""
    if path is None:
        return {}
    document = yaml.read(path)
    if document.problems:
        raise mistakes(document.problems)
    if not isinstance(document.value, dict):
        raise ConfigurationError(f"{path} must hold a map of names and values")
    return document.value


def parse_vars(pairs: tuple[str, ...], declared: Mapping[str, Any]) -> dict[str, Any]:
    """`name=value` pairs for these variables; a variable that is text in the file stays text."""
    texts = {name for name, first in declared.items() if isinstance(first, str)}
    names = [pair.partition("=")[0] for pair in pairs]
    values = parse_values(pairs, texts={name for name in names if own_name(name, declared) in texts})
    return {own_name(name, declared): value for name, value in values.items()}


def own_name(written: str, names: Container[str]) -> str:
    """The native name for one that is written as in a file of another format."""
    native = name_of(written)
    return native if written not in names and native in names else written


def parse_values(pairs: tuple[str, ...], *, texts: Container[str] = ()) -> dict[str, Any]:
    """`name=value` pairs without declared types: JSON where it is JSON, else text."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise ConfigurationError(f"{pair!r} is not a name and a value", hint="write name=value")
        values[name] = value if name in texts else parse_value(value, name)
    return values


def parse_value(text: str, name: str) -> Any:
    """JSON if it is valid JSON, else the text; raises ConfigurationError for a value that no file could hold."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = text
    return json_value(value, name)


def json_value(value: Any, name: str, depth: int = 0) -> Any:
    """A copy of a value that a file could hold as well; raises ConfigurationError for any other, with its place."""
    if depth > MAX_DEPTH:
        raise ConfigurationError(f"{name} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {
            _key(key, name): json_value(inner, f"{name}.{key}", depth + 1) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [json_value(inner, f"{name}[{place}]", depth + 1) for place, inner in enumerate(value)]
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(
            f"{name} is {value}, which is not a number in JSON", hint="leave it out, or use null"
        )
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ConfigurationError(
        f"{name} is a {type(value).__name__}, which JSON cannot hold",
        hint="give text, numbers, booleans, None, lists and maps of them",
    )


def _key(key: Any, name: str) -> str:
    if not isinstance(key, str | int):
        raise ConfigurationError(f"a key of {name} is a {type(key).__name__}", hint="keys are text")
    return _text(key, f"a key of {name}") if isinstance(key, str) else json.dumps(key)


def _text(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{name} has half of a character at position {error.start}, which no file can hold",
            hint='decode the text it came from as UTF-8, with errors="replace" if it must be',
        ) from error
    return text


def _no_number(text: str) -> Any:
    raise ValueError(text)


def parse_settings(pairs: tuple[str, ...], *, sandbox: str | None = None) -> dict[str, Any]:
    """`limits.usd=20` pairs as a nested map; values are written as in a file.

    `sandbox` is the level typed for the run: a weaker one than the default also allows files to name it.
    """
    settings: dict[str, Any] = {"sandbox": {"level": sandbox}} if sandbox in WEAKER_LEVELS else {}
    for pair in pairs:
        path, sign, value = pair.partition("=")
        names = path.split(".")
        if not sign or not all(names):
            raise ConfigurationError(
                f"{pair!r} is not a setting", hint="write key=value, such as limits.usd=20"
            )
        if names[0] not in KEYS:
            hint = did_you_mean(names[0], KEYS) or f"there are {', '.join(KEYS)}"
            raise ConfigurationError(f'"{names[0]}" is not a setting', hint=hint)
        document = yaml.load(value, name=f"--set {path}")
        if document.problems:
            raise mistakes(document.problems)
        place = settings
        for name in names[:-1]:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise ConfigurationError(
                    f"{path} is set, and so is something around it", hint="set one of them"
                )
        place[names[-1]] = document.value
    return settings


def with_defaults(workflow: Workflow, values: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {item.name: item.default for item in workflow.inputs if not item.required}
    return {**defaults, **values}


def as_foreseen(workflow: Workflow, values: Mapping[str, Any]) -> Workflow:
    """The workflow with the settings that these inputs decide; an input that was not given decides none."""
    try:
        return foreseen(workflow, with_defaults(workflow, values))
    except ExprError as error:
        raise ConfigurationError(f"{workflow.name}: {error}", hint=ANOTHER_VALUE) from error


def check_settings(workflow: Workflow, values: Mapping[str, Any]) -> None:
    """Raises for an input that gives a setting a value which it does not take."""
    try:
        entered(workflow, with_defaults(workflow, values))
    except ExprError as error:
        raise ConfigurationError(f"{workflow.name}: {error}", hint=ANOTHER_VALUE) from error


class _Inputs:
    """The names that a subject can read."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self._inputs = inputs

    def lookup(self, name: str) -> Any:
        if name != "inputs":
            raise MissingValue(f"{name} cannot be read before the run")
        return self._inputs

    def fact(self, query: tuple[str, str]) -> Any:
        raise MissingValue(f"{query[0]} cannot be asked before the run")


def subject_of(workflow: Workflow, inputs: Mapping[str, Any]) -> str:
    """What a run with these inputs is about, in one line; empty if the workflow does not say, or an input is missing."""
    try:
        text = as_text(fill(workflow.config.subject, _Inputs(inputs)), Meter())
    except ExprError:
        return ""
    return shortened(text)


def shortened(text: str) -> str:
    """A subject or a note: one line of at most 200 characters."""
    return " ".join(text.split())[:200]


def assumed(workflow: Workflow, values: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, with a plausible value where none was given: the run is only simulated."""
    return {item.name: values.get(item.name, _plausible(item)) for item in workflow.inputs}


def _plausible(item: Input) -> Any:
    if not item.required:
        return item.default
    if item.choices:
        return item.choices[0]
    return {"int": 1, "number": 1.0, "bool": True, "list": ["one"], "map": {}}.get(item.type, item.name)


def new_id() -> RunId:
    """By the time it starts, so that names sort by age; with a random tail."""
    tail = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(4))
    return RunId(f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{tail}")

"""Values that a person hands to a run: from a file, or typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium.errors import ConfigurationError
from podium.workflow import yaml
from podium.workflow.cascade import KEYS
from podium.workflow.problems import did_you_mean


def read_values(path: Path | None) -> dict[str, Any]:
    """The map in a YAML or JSON file; nothing for no file."""
    if path is None:
        return {}
    document = yaml.read(path)
    if document.problems:
        raise ConfigurationError("\n".join(problem.render() for problem in document.problems))
    if not isinstance(document.value, dict):
        raise ConfigurationError(f"{path} must hold a map of names and values")
    return document.value


def parse_values(pairs: tuple[str, ...]) -> dict[str, Any]:
    """`name=value` pairs without declared types: JSON where it is JSON, else text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise ConfigurationError(f"{pair!r} is not a name and a value", hint="write name=value")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def parse_settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """`limits.usd=20` pairs as the map they stand for; a value is spelled as in a file."""
    found: dict[str, Any] = {}
    for pair in pairs:
        path, sign, value = pair.partition("=")
        names = path.split(".")
        if not sign or not all(names):
            raise ConfigurationError(
                f"{pair!r} is not a setting", hint="write key=value, such as limits.usd=20"
            )
        if names[0] not in KEYS:
            hint = did_you_mean(names[0], KEYS) or f"there are {', '.join(KEYS)}"
            raise ConfigurationError(f'"{names[0]}" is no setting', hint=hint)
        document = yaml.load(value, name=f"--set {path}")
        if document.problems:
            raise ConfigurationError("\n".join(problem.render() for problem in document.problems))
        place = found
        for name in names[:-1]:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise ConfigurationError(
                    f"{path} is set, and so is something around it", hint="set one of them"
                )
        place[names[-1]] = document.value
    return found

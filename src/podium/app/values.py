"""Values that a person hands to a run: from a file, or typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium.errors import ConfigurationError
from podium.workflow import yaml


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

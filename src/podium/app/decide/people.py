"""The people whom the configurations of the user and of the project name, for servers that several people use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from podium.errors import ConfigurationError
from podium.files.project_paths import STATE_DIR

CONFIG = "config.yaml"


def people_of(root: Path, user_dir: Path | None) -> frozenset[str]:
    """All members of all groups of `people`; a group that is named in another one is a group and not a person."""
    folders = [*([] if user_dir is None else [user_dir]), root / STATE_DIR]
    groups = {name: members for folder in folders for name, members in _groups(folder / CONFIG)}
    return frozenset(each for members in groups.values() for each in members if each not in groups)


def _groups(file: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        data = yaml.safe_load(file.read_text("utf-8")) if file.exists() else None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    people = data.get("people") if isinstance(data, dict) else None
    for name, members in (people or {}).items() if isinstance(people, dict) else ():
        yield str(name), tuple(map(str, members)) if isinstance(members, list) else (str(members),)

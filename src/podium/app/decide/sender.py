"""Who speaks to a run through which channel, and the process that drives a run which nobody drives.

Also the people whom the configurations name, for servers that several people use.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.errors import ConfigurationError
from podium.files.project_paths import STATE_DIR
from podium.process.detach import DetachedProcess, disown, start_detached
from podium.process.login import login_name
from podium.views.evidence.decisions import Channel

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId

PATIENCE_S: Final = 30.0
LOOK_S: Final = 0.02
CONFIG: Final = "config.yaml"

_woken: Final[list[DetachedProcess]] = []
"""Processes that nobody waits for: a server that lives for weeks has to collect them when they have ended."""


class Speaker(NamedTuple):
    name: str
    channel: Channel

    def new_key(self) -> str:
        """A new key for a command. The event that the command leads to names the key as its cause, so the channel is in the log."""
        return f"{self.channel}-{uuid.uuid4().hex}"


def speaker_by(channel: Channel, name: str | None = None) -> Speaker:
    """The name as given, from $PODIUM_USER, or the login name."""
    return Speaker(name or os.environ.get("PODIUM_USER") or login_name(), channel)


def wake(project: Project, run: RunId, *, waits: bool = True) -> None:
    """Start a process that drives the run, unless one does already. It outlives its starter: a closed page loses nothing.

    With `waits`, return when that process owns the run; otherwise the next command could find a run without an owner.
    """
    _woken[:] = [child for child in _woken if child.poll() is None]
    if project.runtime.is_owned(run):
        return
    child = start_detached("resume", run, cwd=project.root, output=project.paths.run_dir(run) / "engine.log")
    if not waits:
        _woken.append(child)
        return
    deadline = time.monotonic() + PATIENCE_S
    while child.poll() is None and not project.runtime.is_owned(run) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    disown(child)


def people_of(root: Path, user_dir: Path | None) -> frozenset[str]:
    """All members of all groups of `people`; a group that is named in another one is a group and not a person."""
    folders = [*([] if user_dir is None else [user_dir]), root / STATE_DIR]
    groups = {name: members for folder in folders for name, members in _groups(folder / CONFIG)}
    return frozenset(each for members in groups.values() for each in members if each not in groups)


def _groups(file: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    import yaml

    try:
        data = yaml.safe_load(file.read_text("utf-8")) if file.exists() else None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    people = data.get("people") if isinstance(data, dict) else None
    for name, members in (people or {}).items() if isinstance(people, dict) else ():
        yield str(name), tuple(map(str, members)) if isinstance(members, list) else (str(members),)

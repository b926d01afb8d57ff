"""Who speaks to a run through which channel, and the process that drives a run which nobody drives."""

from __future__ import annotations

import os
import time
import uuid
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.process.detach import DetachedProcess, disown, start_detached
from podium.process.login import login_name
from podium.views.evidence.decisions import Channel

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId

PATIENCE_S: Final = 30.0
LOOK_S: Final = 0.02

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

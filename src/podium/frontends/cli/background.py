"""Hands a run to a process of its own."""

from __future__ import annotations

import sys
import time
from typing import Final

from podium.app.project import Office
from podium.core.hash_chain import RunId
from podium.process.detach import disown, start_detached

PATIENCE_S: Final = 30.0
LOOK_S: Final = 0.02


def go_on_in_background(office: Office, run: RunId) -> None:
    """A new process carries the run on; if one does already, it is left to it.

    Comes back when the run is in its hands: whoever looks at once would find a run that nobody carries on.
    """
    folder = office.run_dir(run)
    if office.runtime.is_owned(run):
        return
    child = start_detached(
        (sys.executable, "-m", "podium", "resume", run), cwd=office.project, output=folder / "engine.log"
    )
    deadline = time.monotonic() + PATIENCE_S
    while child.poll() is None and not office.runtime.is_owned(run) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    disown(child)

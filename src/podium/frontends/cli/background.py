"""Hands a run to a process of its own."""

from __future__ import annotations

import sys

from podium.app.office import Office
from podium.core.chain import RunId
from podium.engine.lease import is_owned
from podium.process.detach import detach


def go_on_in_background(office: Office, run: RunId) -> None:
    """A new process carries the run on; if one does already, it is left to it."""
    if not is_owned(office.run_dir(run)):
        argv = (sys.executable, "-m", "podium", "resume", run)
        detach(argv, cwd=office.project, output=office.run_dir(run) / "engine.log")

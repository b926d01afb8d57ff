"""Refuses decisions about a run from inside one of the steps of its project, and records that they were tried.

The sandbox is the first lock: the state of the project is not mounted there. This is the second one, for levels without
a sandbox. It recognizes a process of a run also if the marker was taken out of its environment.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from podium.errors import ConfigurationError
from podium.process.procfs import markers_of_ancestors

if TYPE_CHECKING:
    from podium.core.hash_chain import RunId
    from podium.files.project_paths import ProjectPaths

RECORD: Final = "refused.jsonl"
"""In the folder of the run whose step tried it."""


def refuse_inside_step(paths: ProjectPaths, what: str) -> None:
    """Raises if a step of this project has started this process."""
    run = _run_around(paths)
    if run is None:
        return
    with suppress(OSError):
        _record(paths, run, what)
    raise ConfigurationError(
        f"a process of a step cannot {what}: this is inside run {run}",
        hint="ask a person; a worker asks its team with podium-step ask",
        code="refused",
    )


def _run_around(paths: ProjectPaths) -> RunId | None:
    from podium.core.hash_chain import RunId

    for marker in markers_of_ancestors(os.getpid()):
        whole = marker.partition("/")[0]
        run = RunId(whole.rpartition("-")[0])
        if run and paths.marker(run) == whole:
            return run
    return None


def _record(paths: ProjectPaths, run: RunId, what: str) -> None:
    line = json.dumps({"at": int(time.time() * 1000), "tried": what, "process": os.getpid()})
    place = paths.run_dir(run) / RECORD
    handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{line}\n")

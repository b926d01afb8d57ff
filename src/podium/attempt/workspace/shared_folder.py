"""Gives an agent the `.workflow/` folder of its run: a copy with read-only files, and a folder for its signals.

What an agent writes there is not part of its change, and only its own attempt looks at it.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from pathlib import Path
from typing import Final

from podium.attempt.host import Host
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Agent, Step
from podium.errors import PathViolation, disk_fault
from podium.files.inside import inside
from podium.git.workdir.folder import Owner, copy_file, make_folder

FOLDER: Final = ".workflow"
SIGNALS: Final = f"{FOLDER}/signals"


def share_folder(
    host: Host, step: Step, names: Names | None, folder: Path, owner: Owner | None
) -> tuple[str, ...]:
    """Copies the folder and returns the paths that are not part of the agent's change."""
    signal = _signal_file(step, names)
    if not isinstance(step.verb, Agent) or (signal is None and not (host.run_dir / FOLDER).is_dir()):
        return ()
    try:
        _copy(host.run_dir / FOLDER, folder, owner)
        with make_folder(folder, SIGNALS, owner):
            pass
        if signal is None or names is None:
            return (FOLDER,)
        inside(folder, signal)
        with make_folder(folder, posixpath.dirname(signal), owner):
            below = as_text(fill(step.settings.dir or ".", names), Meter())
            return FOLDER, signal, posixpath.normpath(posixpath.join(below, signal))
    except OSError as error:
        if disk_fault(error) is not None:
            raise
        raise PathViolation(
            f"{FOLDER} cannot be put into the workspace: {error.strerror}",
            hint="the tree has something else there; Podium needs this folder",
        ) from error


def _copy(source: Path, folder: Path, owner: Owner | None) -> None:
    for top, _, files in os.walk(source):
        below = Path(top).relative_to(source)
        with make_folder(folder, str(FOLDER / below), owner) as fd:
            for name in files:
                # The tree may have files of this folder; those are the author's. Others may change while they are copied.
                with suppress(FileExistsError, FileNotFoundError):
                    copy_file(Path(top, name), fd, name, 0o444, owner)


def _signal_file(step: Step, names: Names | None) -> str | None:
    done = step.verb.done if isinstance(step.verb, Agent) else None
    if done is None or done.what != "file" or names is None:
        return None
    return as_text(fill(done.detail["file"], names), Meter())

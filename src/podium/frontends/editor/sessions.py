"""Which run each session of an editor is about; kept in the project, so that an editor finds it again."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Final

from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files import atomic
from podium.files.project_paths import ProjectPaths

FOLDER: Final = "editor_sessions"
NAME: Final = re.compile(r"editor-[0-9a-f]{16}")


@dataclass(slots=True)
class Session:
    id: str
    root: Path
    run: str | None = None
    """The run that it has started, or was opened for."""
    cancels: int = 0
    """How often the person has pressed the stop button in this turn."""


def new_session(root: Path) -> Session:
    return Session(f"editor-{secrets.token_hex(8)}", root)


def save_session(session: Session) -> None:
    folder = ProjectPaths(session.root).state_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write(folder / session.id, f"{session.run}\n".encode())


def load_session(root: Path, name: str) -> Session:
    """The session with this id; also the id of a run opens a session about it."""
    if NAME.fullmatch(name) is None:
        return Session(name, root, name)
    file = ProjectPaths(root).state_dir / FOLDER / name
    try:
        return Session(name, root, file.read_text("utf-8").strip())
    except FileNotFoundError as error:
        raise ConfigurationError(f"session {name} has started no run in {root}") from error

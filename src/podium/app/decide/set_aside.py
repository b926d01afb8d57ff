"""Questions that a person has set aside until a time: theirs alone, never an answer, and never in a log.

Each is a file in the user's state folder. A new visit of the question is a new question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from podium.app.user_projects import state_folder
from podium.core.types import Address, Millis
from podium.files import atomic

MOST: Final = 30 * 24 * 3_600_000
"""Milliseconds for which a question can be set aside; the question is then shown again."""


def set_aside(root: Path, run: str, path: Address, *, until: Millis, now: Millis, person: str = "") -> Millis:
    """`person` is empty for the user whose state folder this is.

    Returns the time until which it is hidden, which is at most MOST away; a time that has passed shows it again."""
    until = Millis(min(until, now + MOST))
    file = _file(root, run, path, person)
    if until <= now:
        file.unlink(missing_ok=True)
        return now
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry = {"root": str(root.absolute()), "run": run, "path": path, "until": until}
    atomic.write(file, f"{json.dumps(entry)}\n".encode())
    return until


def set_aside_until(root: Path, run: str, path: Address, *, now: Millis, person: str = "") -> Millis | None:
    """None if the question is not set aside, or no longer."""
    try:
        entry: Any = json.loads(_file(root, run, path, person).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    until = entry.get("until") if isinstance(entry, Mapping) else None
    return Millis(until) if isinstance(until, int) and until > now else None


def _file(root: Path, run: str, path: Address, person: str) -> Path:
    key = "\0".join((str(root.absolute()), run, path, *filter(None, (person,))))
    return (
        state_folder() / "set_aside" / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    )

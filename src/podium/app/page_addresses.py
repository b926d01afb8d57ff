"""The addresses of the pages that run now: for `podium ui --url`, and for links in messages, which never have the key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from podium.app.user_projects import state_folder
from podium.errors import ConfigurationError
from podium.files import atomic


def remember_pages(roots: Sequence[Path], name: str, address: str, *, base: str) -> Path:
    """A file that only this user can read; it is removed when the server ends. `base` is the address without the key."""
    file = _folder() / f"{name}.json"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry = {
        "pid": os.getpid(),
        "root": str(roots[0]),
        "roots": [str(root) for root in roots],
        "address": address,
        "base": base,
    }
    atomic.write(file, f"{json.dumps(entry)}\n".encode())
    file.chmod(0o600)
    return file


def running_address(root: Path) -> str:
    """The address of a server that shows this project, with its key; raises if none runs."""
    for entry in _running():
        if entry.get("root") == str(root):
            return str(entry["address"])
    raise ConfigurationError(f"no server shows {root}", hint="start one: podium ui")


def link_to(root: Path, run: str, question: str = "") -> str:
    """The page of a question or of a run, if a server shows this project now; empty otherwise. It only shows, as every GET."""
    bases = [str(each.get("base", "")) for each in _running() if str(root) in each.get("roots", ())]
    base = next(filter(None, bases), "")
    page = f"/decide/{quote(question)}" if question else ""
    return f"{base}/runs/{quote(run)}{page}" if base else ""


def _running() -> Iterator[dict[str, Any]]:
    for file in sorted(_folder().glob("*.json")) if _folder().is_dir() else ():
        entry = _read(file)
        if _is_alive(entry.get("pid")):
            yield entry


def _read(file: Path) -> dict[str, Any]:
    try:
        entry = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _is_alive(pid: Any) -> bool:
    try:
        os.kill(int(pid), 0)
    except (OSError, TypeError, ValueError):
        return False
    return True


def _folder() -> Path:
    return state_folder() / "web"

"""Who may use the server: anyone who has the key that it printed when it started.

The key is in the fragment of the printed address, which a browser never sends; the page posts it once and gets a cookie. The
cookie holds another value than the key, so a copied cookie file gives nobody the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Any, Final

from podium.app.user_projects import state_folder
from podium.errors import ConfigurationError
from podium.files import atomic

KEY_BYTES: Final = 24
"""192 bits."""


class Session:
    def __init__(self, port: int, key: str | None = None) -> None:
        self.port = port
        self.key = key or secrets.token_urlsafe(KEY_BYTES)
        self.cookie = f"podium-{port}"
        """Cookies are shared by all ports of a host, so the name has to differ."""
        self.value = hmac.new(self.key.encode(), b"podium cookie", hashlib.sha256).hexdigest()

    def is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.key.encode())

    def is_cookie(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.value.encode())

    def address(self, host: str, *, path: str = "/") -> str:
        port = f":{self.port}" if self.port else ""
        return f"http://{host}{port}{path}#key={self.key}"

    def set_cookie(self) -> str:
        return f"{self.cookie}={self.value}; Path=/; HttpOnly; SameSite=Strict"

    def clear_cookie(self) -> str:
        return f"{self.cookie}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"


def remember(session: Session, root: Path, address: str) -> Path:
    """For `podium ui --url`: a file that only this user can read; it is removed when the server ends."""
    file = _folder() / f"{session.port or os.getpid()}.json"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry = {"pid": os.getpid(), "root": str(root), "address": address}
    atomic.write(file, f"{json.dumps(entry)}\n".encode())
    file.chmod(0o600)
    return file


def running_address(root: Path) -> str:
    """The address of a server that shows this project, with its key; raises if none runs."""
    for file in sorted(_folder().glob("*.json")) if _folder().is_dir() else ():
        entry = _read(file)
        if entry.get("root") == str(root) and _is_alive(entry.get("pid")):
            return str(entry["address"])
    raise ConfigurationError(f"no server shows {root}", hint="start one: podium ui")


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

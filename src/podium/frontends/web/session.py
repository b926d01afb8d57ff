"""Who may use the server: anyone who has the key that it printed when it started.

The key is in the fragment of the printed address, which a browser never sends; the page posts it once and gets a cookie. The
cookie holds another value than the key, so a copied cookie file gives nobody the key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

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

"""Signed webhooks by the scheme of standardwebhooks.com: the id, the time and the body are signed.

Rule: redirects are not followed, so that the request goes nowhere but to the address in the configuration.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from podium import __version__
from podium.ports.channel import ChannelError, ChannelMessage
from podium.ports.clock import Clock, wall_clock
from podium.views.format import iso

TIMEOUT_S: Final = 8.0
MIN_KEY: Final = 24
_PREFIX: Final = "whsec_"


class WebhookChannel:
    def __init__(self, url: str, secret: str, *, now: Clock = wall_clock) -> None:
        self._url = url
        self._secret = secret
        self._now = now

    def fault(self) -> str:
        try:
            parts = urlsplit(self._url)
            _ = parts.port
        except ValueError:
            return "its address is not a URL"
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "its address does not begin with https:// or http://"
        return (
            "" if len(_key(self._secret)) >= MIN_KEY else f"its key is shorter than {MIN_KEY} bytes in base64"
        )

    def send(self, message: ChannelMessage) -> None:
        fault = self.fault()
        if fault:
            raise ChannelError(fault)
        body = json.dumps(payload(message), ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )
        headers = {
            "content-type": "application/json",
            "user-agent": f"podium/{__version__}",
            **sign(self._secret, message.id, self._now() // 1000, body),
        }
        try:
            status = _post(self._url, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ChannelError(f"the request failed: {_reason(error)}") from error
        if not 200 <= status < 300:
            raise ChannelError(f"it answered with status {status}")


def payload(message: ChannelMessage) -> dict[str, Any]:
    return {
        "type": f"podium.{message.kind}",
        "timestamp": iso(message.at),
        "data": {"title": message.title, "text": message.body, **message.data},
    }


def sign(secret: str, name: str, at_s: int, body: bytes) -> Mapping[str, str]:
    signed = f"{name}.{at_s}.".encode() + body
    signature = base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": str(at_s), "webhook-signature": f"v1,{signature}"}


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        return b""


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    parts = urlsplit(url)
    makes: Callable[..., http.client.HTTPConnection] = (
        http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    )
    connection = makes(parts.hostname, parts.port, timeout=TIMEOUT_S)
    try:
        target = parts.path or "/"
        connection.request("POST", f"{target}?{parts.query}" if parts.query else target, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def _reason(error: Exception) -> str:
    """What failed, without the address: that may contain a key."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it took too long" if isinstance(error, TimeoutError) else type(error).__name__

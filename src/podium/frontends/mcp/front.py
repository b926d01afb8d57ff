"""Answers the questions that every client asks first, at once and from a file, while the real server is imported.

Importing the SDK takes up to two seconds, and agent programs do not wait so long for a server: they work on without its
tools. The answers are recorded from the real server (`make docs`), and a test compares them. This module and its parents
import nothing but the standard library.

Rule 1: what never changes is answered here: the handshake, and the lists of tools, resources and prompts.
Rule 2: everything else, and the handshake as well, is passed on in its order; the real server's reply to a handshake that
        was answered here is dropped.
Rule 3: a request that this module does not know in every detail is left to the real server.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ANSWERS: Final = Path(__file__).parents[2] / "data/mcp_answers.json"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
LISTS: Final = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
PLAIN_PARAMS: Final = frozenset({"_meta"})
"""A list that is asked for with any other parameter, such as a cursor, is left to the real server."""


class Front:
    """Decides for each message of a client what is answered at once."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers
        self._is_initialized = False

    def answer(self, message: Any) -> tuple[Mapping[str, Any] | None, bool]:
        """The answer, if it is known, and whether the message is passed on to the real server."""
        if not isinstance(message, dict) or "id" not in message or not isinstance(message.get("method"), str):
            return None, True
        result = self._result(message["method"], message.get("params"))
        if result is None:
            return None, True
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return answer, message["method"] == "initialize"

    def _result(self, method: str, params: Any) -> Mapping[str, Any] | None:
        params = params if isinstance(params, dict) else {}
        version = _version_in(params)
        if version is not None:
            is_known = version == self._answers["modern_version"] and params.keys() <= PLAIN_PARAMS
            answers: Mapping[str, Any] = self._answers["modern"]
            return answers.get(method) if is_known else None
        if method == "initialize":
            return self._handshake(params)
        if method == "ping" and self._is_initialized:
            return {}
        is_list = method in LISTS and self._is_initialized and params.keys() <= PLAIN_PARAMS
        return self._answers["legacy"].get(method) if is_list else None

    def _handshake(self, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        version = params.get("protocolVersion")
        has_client = isinstance(params.get("clientInfo"), dict) and isinstance(
            params.get("capabilities"), dict
        )
        if version not in self._answers["legacy_versions"] or not has_client or self._is_initialized:
            return None
        self._is_initialized = True
        return {**self._answers["legacy"]["initialize"], "protocolVersion": version}


def _version_in(params: Mapping[str, Any]) -> Any:
    """The protocol of a client without a handshake, which names it in each request."""
    meta = params.get("_meta")
    return meta.get(VERSION_KEY) if isinstance(meta, dict) else None


def read_answers(*, may_answer: bool) -> Mapping[str, Any]:
    answers: Mapping[str, Any] = json.loads(ANSWERS.read_bytes())["answering" if may_answer else "asking"]
    return answers


class Wire:
    """The descriptor that the client reads: each message is written whole, whichever thread writes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._dropped: list[Any] = []

    def send(self, message: Mapping[str, Any]) -> None:
        self._write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def drop(self, request: Any) -> None:
        """The next reply of the real server to this request is not sent."""
        self._dropped.append(request)

    def relay(self, line: bytes) -> bool:
        """Send a line of the real server; False if it is not a message, such as what a library prints."""
        try:
            message = json.loads(line)
        except ValueError:
            return False
        if self._dropped and "method" not in message and message.get("id") in self._dropped:
            self._dropped.remove(message["id"])
        else:
            self._write(line)
        return True

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        with self._lock:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

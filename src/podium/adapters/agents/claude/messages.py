"""The messages that claude reads from its input while it works, one line of JSON each (`--input-format stream-json`).

A message that comes during a turn reaches the model with the result of the next tool, one that comes after the answer starts
another turn. In both cases claude prints the message again at that moment (`--replay-user-messages`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4


def user_message(text: str, name: str | None = None) -> bytes:
    """A line of input, with an id that the program repeats."""
    # claude treats a message that begins with a slash as one of its commands, and answers without a model.
    safe = (f"\n{text}" if text.startswith("/") else text).encode("utf-8", "replace").decode()
    message = {"type": "user", "message": {"role": "user", "content": safe}, "parent_tool_use_id": None}
    record = message if name is None else {**message, "uuid": name}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


class SentMessages:
    """The messages after the prompt, each with the key of its sender."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        """The keys of the messages that the model has not got yet, by the id of the message."""
        self._passed_on: list[str] = []

    def write(self, key: str, text: str) -> bytes:
        name = str(uuid4())
        self._open[name] = key
        return user_message(text, name)

    def read(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the output says that the model has got one of these messages."""
        name = record.get("uuid")
        if record.get("isReplay") is not True or not isinstance(name, str) or name not in self._open:
            return False
        self._passed_on.append(self._open.pop(name))
        return True

    def passed_on(self) -> Iterable[str]:
        """The keys of the messages that the model has got since the last call."""
        keys, self._passed_on = self._passed_on, []
        return keys

    @property
    def is_open(self) -> bool:
        """Whether the model has not got all of them yet."""
        return bool(self._open)

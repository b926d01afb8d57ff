"""How a command to a run and its reply are stored: the command as JSON, the reply as a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from podium.core.codec import STORED_NAMES, CodecError, read_as
from podium.core.events import ApprovalGiven
from podium.core.messages import (
    Approve,
    Cancel,
    Guide,
    Jump,
    Pause,
    RaiseLimit,
    Refusal,
    Resume,
    Signal,
    Start,
    Tell,
)
from podium.core.payloads import RunFacts
from podium.ports.runtime import Accepted, ManualWorkDone, RunCommand
from podium.ports.store import QueuedCommand

_KINDS: Final[dict[str, type[RunCommand]]] = {
    "start": Start,
    "approve": Approve,
    "signal": Signal,
    "cancel": Cancel,
    "jump": Jump,
    "pause": Pause,
    "resume": Resume,
    "guide": Guide,
    "tell": Tell,
    "raise_limit": RaiseLimit,
    "done": ManualWorkDone,
}
DONE: Final = "done"
"""The reply to a command that was followed; every other text says why it was not."""
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def encode_command(command: RunCommand) -> Mapping[str, Any]:
    data: dict[str, Any] = _data(command)
    return {"say": _NAMES[type(command)], **data}


def _data(value: Any) -> Any:
    """As JSON has it. Not by `asdict`: that copies, and the read-only maps of a workflow's values cannot be copied."""
    if is_dataclass(value) and not isinstance(value, type):
        stored = STORED_NAMES.get(type(value), {})
        return {
            stored.get(field.name, field.name): _data(getattr(value, field.name)) for field in fields(value)
        }
    if isinstance(value, Mapping):
        return {key: _data(item) for key, item in value.items()}
    return [_data(item) for item in value] if isinstance(value, list | tuple) else value


def approval(earlier: ApprovalGiven) -> Approve:
    """An approval of an earlier run as a command to this one."""
    return Approve(
        earlier.path,
        earlier.action,
        earlier.by,
        earlier.text,
        earlier.answer,
        earlier.tree,
        earlier.reused,
        earlier.how,
    )


def decode_command(queued: QueuedCommand) -> RunCommand | str:
    """The command, or why it cannot be read: its sender may be another version."""
    body = dict(queued.body)
    kind = _KINDS.get(str(body.pop("say", "")))
    if kind is None:
        return "this owner of the run does not know that command; it may be an older version"
    # Only the engine takes answers of an earlier run; a sender cannot claim to be one.
    names = {field.name for field in fields(kind)} - {"reused"}
    try:
        if kind is Start:
            body["run"] = read_as(RunFacts, body["run"])
        return kind(**{key: value for key, value in body.items() if key in names})
    except (TypeError, KeyError, CodecError) as error:
        return f"the command is incomplete: {error}"


def decode_reply(text: str) -> Accepted | Refusal:
    return Accepted() if text == DONE else Refusal("refused", text)

"""Messages of other processes: how a command of a person is written into a letter and read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeAlias

from podium.core.codec import CodecError, read_as
from podium.core.events import ApprovalGiven
from podium.core.messages import Approve, Cancel, Guide, Jump, Pause, RaiseLimit, Resume, Signal, Start
from podium.core.payloads import RunFacts
from podium.core.types import Path
from podium.ports.store import QueuedCommand


@dataclass(frozen=True, slots=True)
class ManualWorkDone:
    """A person has done the work of a step by hand, or cannot."""

    path: Path
    by: str
    text: str = ""
    answer: Any = None
    failed: bool = False


RunCommand: TypeAlias = (
    Start | Approve | Signal | Cancel | Jump | Pause | Resume | Guide | RaiseLimit | ManualWorkDone
)

_KINDS: Final[dict[str, type[RunCommand]]] = {
    "start": Start,
    "approve": Approve,
    "signal": Signal,
    "cancel": Cancel,
    "jump": Jump,
    "pause": Pause,
    "resume": Resume,
    "guide": Guide,
    "raise_limit": RaiseLimit,
    "done": ManualWorkDone,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def encode_command(message: RunCommand) -> Mapping[str, Any]:
    told: dict[str, Any] = _data(message)
    return {"say": _NAMES[type(message)], **told}


def _data(value: Any) -> Any:
    """As JSON has it. Not by `asdict`: that copies, and the read-only maps of a workflow's values cannot be copied."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _data(one) for key, one in value.items()}
    return [_data(one) for one in value] if isinstance(value, list | tuple) else value


def approval(given: ApprovalGiven) -> Approve:
    """What somebody has said before, said again."""
    return Approve(given.path, given.action, given.by, given.text, given.answer, given.tree)


def decode_command(letter: QueuedCommand) -> RunCommand | str:
    """The message, or why it is none: letters come from other processes, perhaps of another version."""
    body = dict(letter.body)
    kind = _KINDS.get(str(body.pop("say", "")))
    if kind is None:
        return "this owner of the run does not know that command; it may be an older version"
    known = {field.name for field in fields(kind)}
    try:
        if kind is Start:
            body["run"] = read_as(RunFacts, body["run"])
        return kind(**{key: value for key, value in body.items() if key in known})
    except (TypeError, KeyError, CodecError) as error:
        return f"the command is incomplete: {error}"

"""What attempts are doing right now, from the reports that they write while they run."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from podium.core.types import Address, MicroUsd, Millis
from podium.views.format import clock_time
from podium.views.plain import one_line

MAX_LINE: Final = 300
MAX_TAIL: Final = 2000
"""Characters of the last text that are remembered; its last line is shown."""
PIECES: Final = ("text", "output")
"""Kinds whose text comes in pieces."""
HIDDEN: Final = ("usage", "done")
"""Kinds that do not replace what is shown."""


class Activity(NamedTuple):
    """One thing that an attempt did: a line of progress.jsonl."""

    kind: str
    text: str
    at: Millis = Millis(0)
    until: Millis | None = None
    tokens: int = 0
    usd: MicroUsd | None = None


class CurrentActivity(NamedTuple):
    """What a step is doing, and what its attempt has used so far."""

    kind: str = ""
    text: str = ""
    until: Millis | None = None
    tokens: int = 0
    usd: MicroUsd | None = None

    @property
    def line(self) -> str:
        return describe(self.kind, self.text, self.until)


NO_ACTIVITY: Final = CurrentActivity()


class Activities:
    """The current activity of each step."""

    def __init__(self) -> None:
        self._by_path: dict[Address, CurrentActivity] = {}

    def take(self, path: Address, activity: Activity) -> None:
        now = self._by_path.get(path, NO_ACTIVITY)
        if activity.kind == "usage":
            tokens = max(now.tokens, activity.tokens)
            now = now._replace(tokens=tokens, usd=now.usd if activity.usd is None else activity.usd)
        elif activity.kind in PIECES and now.kind == activity.kind:
            now = now._replace(text=(now.text + activity.text)[-MAX_TAIL:])
        elif activity.kind not in HIDDEN:
            now = now._replace(kind=activity.kind, text=activity.text[-MAX_TAIL:], until=activity.until)
        self._by_path[path] = now

    def at(self, path: Address) -> CurrentActivity:
        return self._by_path.get(path, NO_ACTIVITY)

    def forget(self, path: Address) -> None:
        """Drop the activity of a step whose attempt has ended."""
        self._by_path.pop(path, None)


def describe(kind: str, text: str, until: Millis | None = None) -> str:
    """An activity in one line, for a person."""
    if kind in PIECES:
        text = last_line(text)
    shown = one_line(text, MAX_LINE)
    match kind:
        case "text":
            return f'says "{shown}"' if shown else ""
        case "think":
            return f"thinks: {shown}" if shown else "thinks"
        case "read":
            return f"reads {shown}"
        case "edit" | "file":
            return f"edits {shown}"
        case "run":
            return f"runs {shown}"
        case "tool":
            return f"uses {shown}"
        case "wait":
            return f"waits for {shown}"
        case "retry":
            when = "" if until is None else f", retry at {clock_time(until)}"
            return f"waits for its model{when}: {shown}"
        case "done" | "usage":
            return ""
        case _:
            return shown


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def read_activity(line: bytes) -> Activity | None:
    """A line of progress.jsonl; None if it is incomplete or not one."""
    try:
        record: Any = json.loads(line)
    except ValueError:
        return None
    match record:
        case {"at": int(at), "kind": str(kind), "text": str(text)}:
            until, tokens, usd = record.get("until"), record.get("tokens"), record.get("usd")
            return Activity(
                kind,
                text,
                Millis(at),
                Millis(until) if isinstance(until, int) else None,
                tokens if isinstance(tokens, int) else 0,
                MicroUsd(usd) if isinstance(usd, int) else None,
            )
        case _:
            return None

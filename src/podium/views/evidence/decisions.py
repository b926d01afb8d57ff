"""What people have decided in a run: who, through which channel, about which tree, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from podium.core.addresses import without_numbers
from podium.core.events import ApprovalAsked, ApprovalGiven, Event
from podium.core.types import Address, Millis, Tree

Channel: TypeAlias = Literal["cli", "web", "tui", "mcp", "editor", "python", "file"]
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
SHOWN: Final[Mapping[str, str]] = {
    "web": "by web",
    "tui": "by terminal",
    "mcp": "by MCP",
    "editor": "by an editor",
    "file": "by file",
}
"""How a channel is shown behind a name; the command line and programs of the person need no word."""
QUEUED: Final = "letter "
INBOX: Final = "inbox"


class Decision(NamedTuple):
    seq: int
    at: Millis
    path: Address
    by: str
    channel: Channel
    action: str
    text: str
    tree: Tree | None
    reused: str = ""
    """The earlier run in which the person answered."""

    @property
    def who(self) -> str:
        word = SHOWN.get(self.channel)
        return self.by if word is None else f"{self.by}, {word}"


def channel_of(cause: str) -> Channel:
    """The channel in the cause of an event: letters are named for theirs, and answers in files say so."""
    if cause == INBOX:
        return "file"
    name = cause.removeprefix(QUEUED).partition("-")[0]
    return next((channel for channel in CHANNELS if cause.startswith(QUEUED) and channel == name), "cli")


def decisions_of(log: Iterable[Event], causes: Mapping[int, str]) -> tuple[Decision, ...]:
    """In order; `causes` are those of the answers, by the numbers of their events."""
    trees: dict[Address, Tree | None] = {}
    decisions = []
    for seq, event in enumerate(log, start=1):
        match event:
            case ApprovalAsked():
                trees[event.path] = event.tree
            case ApprovalGiven():
                tree = event.tree or trees.get(event.path)
                channel = channel_of(causes.get(seq, ""))
                decision = (event.path, event.by, channel, event.action, event.text, tree, event.reused)
                decisions.append(Decision(seq, event.at, *decision))
            case _:
                pass
    return tuple(decisions)


def about(decisions: Iterable[Decision], path: Address) -> tuple[Decision, ...]:
    """The decisions about a question, in all its visits."""
    return tuple(each for each in decisions if without_numbers(each.path) == without_numbers(path))

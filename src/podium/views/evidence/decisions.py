"""What people have decided in a run: who, through which channel, about which tree, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
HASTY_MS: Final = 10_000
HASTY: Final = "within 10 s and without opening the change"


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
    since: Millis | None = None
    """When the question was asked."""
    opened: tuple[str, ...] = ()
    """What of the evidence the person is known to have opened."""
    present: bool = False
    """Whether a passkey proved that the person was present."""

    @property
    def is_hasty(self) -> bool:
        """Whether work was approved within HASTY_MS of the question, by somebody who had not opened the change."""
        return (
            not self.reused
            and self.tree is not None
            and is_hasty(self.action, self.at, self.since, self.opened)
        )

    @property
    def who(self) -> str:
        words = (self.by, SHOWN.get(self.channel), "with a passkey" if self.present else None)
        return ", ".join(word for word in words if word)

    @property
    def remark(self) -> str:
        """What a reader should know about how this answer was given."""
        return HASTY if self.is_hasty else ""


def is_hasty(action: str, at: Millis, since: Millis | None, opened: Sequence[str]) -> bool:
    return action == "approve" and since is not None and at - since < HASTY_MS and "diff" not in opened


def channel_of(cause: str) -> Channel:
    """The channel in the cause of an event: letters are named for theirs, and answers in files say so."""
    if cause == INBOX:
        return "file"
    name = cause.removeprefix(QUEUED).partition("-")[0]
    return next((channel for channel in CHANNELS if cause.startswith(QUEUED) and channel == name), "cli")


def decisions_of(log: Iterable[Event], causes: Mapping[int, str]) -> tuple[Decision, ...]:
    """In order; `causes` are those of the answers, by the numbers of their events."""
    trees: dict[Address, Tree | None] = {}
    since: dict[Address, Millis] = {}
    decisions = []
    for seq, event in enumerate(log, start=1):
        match event:
            case ApprovalAsked():
                trees[event.path], since[event.path] = event.tree, event.at
            case ApprovalGiven():
                tree = event.tree or trees.get(event.path)
                channel = channel_of(causes.get(seq, ""))
                decision = (event.path, event.by, channel, event.action, event.text, tree, event.reused)
                seen = (since.get(event.path), event.opened, event.proof is not None)
                decisions.append(Decision(seq, event.at, *decision, *seen))
            case _:
                pass
    return tuple(decisions)


def about(decisions: Iterable[Decision], path: Address) -> tuple[Decision, ...]:
    """The decisions about a question, in all its visits."""
    return tuple(each for each in decisions if without_numbers(each.path) == without_numbers(path))

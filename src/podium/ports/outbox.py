"""The protocol of the outbox: which messages of a project are to be sent, and what became of each.

Rule 1: a message is stored before it is sent, and its result after; between the two it is `sending`. One that is found
in this state after a crash is sent again with the same id.
Rule 2: up to which event the messages of a run are stored is part of the same transaction as the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.fast_dataclass import dataclass
from podium.ports.channel import ChannelMessage, OpenChannel

MessageState: TypeAlias = Literal["queued", "sending", "sent", "failed", "withdrawn"]


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message for one channel."""

    message: ChannelMessage
    channel: str
    run: RunId
    due: Millis
    """Not to be sent before."""
    question: str = ""
    """The question that it is about; once that is answered, the message is not sent any more."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    outgoing: OutgoingMessage
    state: MessageState
    tries: int = 0
    batch: str = ""
    """The id under which it was sent, together with others in a digest."""
    changed: Millis = Millis(0)
    reason: str = ""
    """Why the last try failed."""


class Outbox(Protocol):
    def seen(self, run: RunId) -> int | None:
        """Up to which event messages of the run are stored; None if they never were."""

    def add(
        self, run: RunId, seen: int, messages: Sequence[OutgoingMessage], *, answered: Collection[str] = ()
    ) -> int:
        """Store new messages, and withdraw those about questions that are answered; returns how many were new."""

    def due(self, now: Millis) -> tuple[StoredMessage, ...]:
        """What is to be sent now, oldest first."""

    def next_due(self) -> Millis | None:
        """When the next message is to be sent; None if there is none."""

    def begin(self, ids: Collection[str], *, batch: str, now: Millis) -> None:
        """These messages are about to be sent."""

    def finish(self, ids: Collection[str], *, now: Millis) -> None:
        """They were delivered."""

    def fail(self, ids: Collection[str], reason: str, *, retry_at: Millis | None, now: Millis) -> None:
        """They were not delivered; `retry_at` is when to try again, None for never."""

    def recover(self) -> None:
        """Queue what a sender that died was sending. Only for the one that holds the lock of the outbox."""

    def messages(self, *, limit: int) -> tuple[StoredMessage, ...]:
        """The newest messages, newest first."""

    def look(self, viewer: str, until: Millis) -> None:
        """A person looks at the open questions until then."""

    def is_watched(self, now: Millis) -> bool:
        """Whether a person looks at the open questions now."""

    def close(self) -> None: ...


class Messaging(NamedTuple):
    """How a project tells people about its runs."""

    open_outbox: Callable[[], Outbox]
    """The caller closes it."""
    open_channel: OpenChannel

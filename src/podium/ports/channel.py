"""The protocol of channels, through which messages about runs reach people.

Rule 1: a message that is sent twice has the same id both times, so that a receiver can ignore the second.
Rule 2: nothing in a message decides anything: mail scanners open links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from podium.core.types import Millis
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass

Env: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    id: str
    kind: str
    title: str
    body: str
    """At most six lines of plain text."""
    data: Mapping[str, Any]
    """The same as facts, for programs."""
    at: Millis
    """When the event happened."""


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """A channel as the configuration has it; addresses may contain `${{ env.NAME }}`."""

    name: str
    url: str = ""
    webhook: str = ""
    secret: str = ""
    """The variable with the key that signs the requests of a webhook."""
    desktop: bool = False
    command: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    """Only what these people or groups may answer, or have been asked; empty for everything."""
    quiet: str = ""
    digest: str = ""

    @property
    def form(self) -> str:
        if self.desktop:
            return "desktop"
        return "webhook" if self.webhook else "command" if self.command else "url"


class ChannelError(PodiumError):
    """A message was not delivered. The message of the error contains no address."""

    code = "channel"


class Channel(Protocol):
    def send(self, message: ChannelMessage) -> None:
        """Deliver a message or raise ChannelError; called in a thread, and abandoned if it takes too long."""

    def fault(self) -> str:
        """Why nothing can be sent here, without trying; empty if nothing is known to be wrong."""


OpenChannel: TypeAlias = Callable[[ChannelSettings, Env], Channel]

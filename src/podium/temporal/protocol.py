"""What clients, workflows and workers say to each other: names, limits, and the shape of the start of a run."""

from __future__ import annotations

import hashlib
import json
import socket
import zlib
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

from podium.core.hash_chain import RunId
from podium.errors import PodiumError

RUN: Final = "podium.run"
PERFORM: Final = "podium.perform"
CARRY_ON: Final = "podium.carry_on"
TURN: Final = "podium.turn"
SEND: Final = "podium.send"
EVENTS: Final = "podium.events"
STARTED_WITH: Final = "podium.started_with"
QUEUE: Final = "podium"

STATUS_ATTRIBUTE: Final = "PodiumStatus"
WAITS_FOR_ATTRIBUTE: Final = "PodiumWaitsFor"
ANYBODY: Final = "*"
"""In WAITS_FOR_ATTRIBUTE: a question that anybody may answer."""

HANDED_BACK: Final = "HandedBack"
"""The failure of an attempt that its worker gave up because it stops."""
EXCHANGE: Final = "Exchange"
"""The failure of an attempt that did not begin, because its files could not be fetched."""
UNABLE: Final = "Unable"
"""The failure of an attempt that this worker cannot perform and another one may."""

MOST_BYTES: Final = 1_800_000
"""Temporal refuses payloads above 2 MB."""
PAGE_BYTES: Final = 800_000


class RunInput(TypedDict):
    """The start of a run, and what its next part gets when its history has become long."""

    run: str
    definition: Any
    context: Any
    start: Any
    exchange: str
    heartbeat_s: float
    searchable: bool
    """Whether the namespace has the search attributes."""
    continue_after: int
    """Length of the history after which it continues as a new one; 0 leaves that to the server."""
    turns: list[Any]
    """The log so far: [cause, [[type, body], ...]] for each turn."""
    replies: dict[str, str]
    """The replies to commands, by key."""
    files: list[str]
    deliveries: int
    source: NotRequired[str]
    """What the client stores besides; another client of the project takes the run up with it."""
    home: NotRequired[str]
    """The queue of the folder from which it was started; absent in runs of earlier versions."""


class Page(TypedDict):
    """Events of a run, with what a follower needs besides them."""

    events: list[list[str]]
    """Cause, type and body of each."""
    count: int
    last_hash: str
    files: list[str]
    """The blobs with the files that attempts wrote, in order."""
    lacking: str
    """Why an attempt waits for a worker; empty if none does."""


def label_queue(label: str) -> str:
    return f"{QUEUE}.{label}"


def home_queue(folder: Path) -> str:
    """The queue of a folder of this machine; its name tells nobody the folder."""
    place = f"{socket.gethostname()}:{folder.resolve()}"
    return f"{QUEUE}.home.{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def fits(value: Any) -> bool:
    """Whether a value can be sent; text compresses well, so only a large one is tried."""
    text = json.dumps(value).encode()
    return len(text) <= MOST_BYTES or len(zlib.compress(text, 1)) <= MOST_BYTES


class Unreachable(PodiumError):
    """The Temporal server cannot be reached, or no worker answers."""

    code = "unreachable"


def unreachable(run: RunId | None, address: str, why: str) -> Unreachable:
    about = "" if run is None else f", so run {run} cannot be asked"
    return Unreachable(f"{address} does not answer{about}: {why}", hint="podium doctor --on " + address)

"""One look for all: a thread looks at the projects, and every open page hears what has changed.

A stream has a queue of a bounded length. One that is not read is dropped; its page connects again and reads everything anew,
so nothing is lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from podium.app.project import Project
from podium.app.query.activity import activity_stamp
from podium.app.query.changes import ChangeFeed, RunChange
from podium.app.query.runs import ENDED
from podium.app.query.shelf import FoldedRun, Shelf
from podium.core.hash_chain import RunId
from podium.errors import PodiumError
from podium.ports.runtime import no_such_run

LOOK_S: Final = 0.05
ACTIVITY_LOOKS: Final = 6
"""Reports of running agents are files; every so many looks the open ones are looked at."""
MOST_STREAMS: Final = 100
MOST_QUEUED: Final = 256


class TooManyStreams(PodiumError):
    """As many pages are open as the server serves."""


class Stream:
    """What one open page has to hear; belongs to the event loop of the server."""

    def __init__(self, run: str) -> None:
        self.run = run
        """Only changes of this run; of all if empty."""
        self.queue: asyncio.Queue[RunChange | None] = asyncio.Queue(MOST_QUEUED)
        self.is_dropped = False

    def put(self, change: RunChange | None) -> None:
        if change is not None and self.run and change.run != self.run:
            return
        try:
            self.queue.put_nowait(change)
        except asyncio.QueueFull:
            self.is_dropped = True


class Hub:
    def __init__(self, roots: Iterable[Path], open_project: Callable[[Path], Project]) -> None:
        self.open_project = open_project
        """Opens a project of its own, for what takes long or writes."""
        self.shelves = tuple(Shelf(open_project(root)) for root in roots)
        self._feeds = tuple(ChangeFeed(shelf) for shelf in self.shelves)
        self._streams: set[Stream] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="hub", daemon=True)
        self.changes = 0
        """How many were told. A page has the number from before it was made, and its stream says the one from now."""
        self._activity: dict[RunId, int] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Streams end, or the server would wait for them. May be called from any thread, and more than once."""
        self._stopped.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_streams)
        if self._thread.is_alive():
            self._thread.join(2)

    def close(self) -> None:
        for shelf in self.shelves:
            shelf.close()

    @property
    def user_dir(self) -> Path | None:
        """The folder of the user's own configuration, which all projects share."""
        return self.shelves[0].project.user_dir

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def open_stream(self, run: str) -> Stream:
        if len(self._streams) >= MOST_STREAMS:
            raise TooManyStreams(f"{MOST_STREAMS} pages are open", hint="close some")
        stream = Stream(run)
        self._streams.add(stream)
        return stream

    def close_stream(self, stream: Stream) -> None:
        self._streams.discard(stream)

    def find(self, run: str) -> tuple[Shelf, FoldedRun]:
        """The run with exactly this id, of any project; raises ConfigurationError if there is none."""
        for shelf in self.shelves:
            with shelf.lock:
                head = shelf.project.runtime.head(RunId(run))
                if head is not None:
                    return shelf, shelf.of(head)
        raise no_such_run(run)

    def _look(self) -> None:
        number = 0
        self._read_open_runs()
        while not self._stopped.wait(LOOK_S):
            number += 1
            changes = [change for feed in self._feeds for change in _look_at(feed)]
            if number % ACTIVITY_LOOKS == 0:
                changes += self._activities()
            if changes and self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._tell, changes)

    def _read_open_runs(self) -> None:
        """Once at the start, so that the first page does not wait for it."""
        for shelf in self.shelves:
            for head in shelf.heads():
                if head.status not in ENDED and not self._stopped.is_set():
                    with suppress(PodiumError):
                        shelf.of(head)

    def _activities(self) -> list[RunChange]:
        """Runs that an open page shows and whose agents have reported something."""
        changes = []
        for run in {stream.run for stream in tuple(self._streams) if stream.run}:
            try:
                shelf, folded = self.find(run)
            except PodiumError:
                continue
            if folded.view.status not in ("running", "waiting"):
                continue
            stamp = activity_stamp(shelf.project.paths, folded.view)
            if self._activity.get(folded.head.run, stamp) != stamp:
                changes.append(
                    RunChange(shelf.project.root, folded.head.run, folded.head.last_seq, folded.view.status)
                )
            self._activity[folded.head.run] = stamp
        return changes

    def _end_streams(self) -> None:
        for stream in tuple(self._streams):
            stream.put(None)

    def _tell(self, changes: list[RunChange]) -> None:
        self.changes += len(changes)
        for stream in tuple(self._streams):
            for change in changes:
                stream.put(change)


def _look_at(feed: ChangeFeed) -> tuple[RunChange, ...]:
    try:
        return feed.look()
    except PodiumError:
        # A log that cannot be read now is read at the next look; a page that asks for it shows the reason.
        return ()

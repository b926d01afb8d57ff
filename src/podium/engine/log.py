"""The log of one run, for its owner: state and events, always equal to what is stored.

Rule: nothing counts before it is committed. `handle` stores all events of a turn in one transaction and only then
returns the effects they ask for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from podium.core.codec import decode, encode
from podium.core.effects import Effect
from podium.core.events import Event, RunEnded
from podium.core.evolve.evolve import advance, fold
from podium.core.hash_chain import FIRST_HASH, Record, RunId, links
from podium.core.json_text import compact_json
from podium.core.messages import Message, Refusal
from podium.core.model import Workflow
from podium.core.state import State, draft, freeze
from podium.core.turn import turn
from podium.core.types import Millis
from podium.ports.presence import NobodyPresent, PresenceCheck
from podium.ports.runtime import Accepted, Reply, check_unchanged
from podium.ports.store import NewRun, QueuedCommand, RunHead, Store
from podium.runtime.answers import validate_answer
from podium.runtime.commands import DONE, decode_reply, encode_command
from podium.runtime.records import events_of, read_records, untrusted
from podium.runtime.status import status_of
from podium.views.run.builder import RunViewBuilder

CHAIN_HEAD: Final = "chain_head"

SourceOfNext: TypeAlias = Callable[[RunHead, Collection[str]], str]
"""What the run that continues this one is started with, apart from the values of these inputs."""


class Log:
    """Made by `open_log`; belongs to the process that holds the lease of the run."""

    def __init__(
        self,
        store: Store,
        run: RunId,
        *,
        epoch: int,
        state: State,
        events: list[Event],
        hashes: list[str],
        head_file: Path,
        source_of_next: SourceOfNext,
    ) -> None:
        self.run = run
        self._source_of_next = source_of_next
        self.epoch = epoch
        self.state = state
        self.events = events
        self.earlier_events = len(events)
        self._earlier = RunViewBuilder()
        self._earlier.feed(events)
        self.hashes = hashes
        """Those of the events in their chain."""
        self.replies: dict[str, Reply] = {}
        """To the queued commands that this owner has read, by their keys."""
        self.refused: list[str] = []
        """Why answers in files were refused; their authors get no reply."""
        self.presence: PresenceCheck = NobodyPresent()
        self._store = store
        self._head = os.open(head_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def handle(
        self, message: Message, now: Millis, *, cause: str, queued: QueuedCommand | None = None
    ) -> tuple[Effect, ...] | Refusal:
        """One turn: store the message and everything that follows from it; return what has to be done about it."""
        valid = validate_answer(self.state, message, presence=self.presence)
        result = valid if isinstance(valid, Refusal) else turn(self.state, valid, now)
        if isinstance(result, Refusal):
            if queued is not None:
                self.reply(queued, result.message)
            return result
        if result.events:
            self._append(result.events, result.state, cause, queued)
            self.state = result.state
            self.events.extend(result.events)
        elif queued is not None:
            self.reply(queued, DONE)
        return result.effects

    def earlier_view(self) -> RunViewBuilder:
        return self._earlier.copy()

    def reply(self, queued: QueuedCommand, text: str) -> None:
        """Answer a command that led to no event."""
        self._store.answer(queued, text)
        self.replies[queued.name] = decode_reply(text)

    def copy_turn(self, cause: str, encoded: Sequence[tuple[str, str]]) -> None:
        """Store the events of a turn that another machine took."""
        events = tuple(decode(json.loads(body)) for _, body in encoded)
        state = draft(self.state)
        for event in events:
            state = advance(state, event)
        state = freeze(state)
        following = self._next_run(events, encoded, state, cause)
        records = self._store.append(
            self.run,
            encoded,
            after=len(self.events),
            epoch=self.epoch,
            cause=cause,
            status=status_of(state),
            # Its start is not queued here: the machine that took this turn starts it.
            creates=None if following is None else NewRun(following.head, {}),
        )
        self.state = state
        self.events.extend(events)
        self._keep_hashes(records)

    def _append(
        self, events: Sequence[Event], state: State, cause: str, queued: QueuedCommand | None
    ) -> None:
        encoded = [(type(event).__name__, to_text(event)) for event in events]
        records = self._store.append(
            self.run,
            encoded,
            after=len(self.events),
            epoch=self.epoch,
            cause=cause,
            status=status_of(state),
            answers=None if queued is None else (queued, DONE),
            creates=self._next_run(events, encoded, state, cause),
        )
        if queued is not None:
            self.replies[queued.name] = Accepted()
        self._keep_hashes(records)

    def _keep_hashes(self, records: Sequence[Record]) -> None:
        self.hashes.extend(record.hash for record in records)
        # Outside the database, so that `verify` notices when events at the end of the log are gone. Of fixed length
        # and written over in place: one system call per turn.
        os.pwrite(self._head, f"{records[-1].seq:>12} {records[-1].hash}\n".encode(), 0)

    def _next_run(
        self, events: Sequence[Event], encoded: Sequence[tuple[str, str]], state: State, cause: str
    ) -> NewRun | None:
        """The run that continues this one, if these events end it so."""
        last = events[-1]
        if not isinstance(last, RunEnded) or not last.continued_by:
            return None
        from podium.runtime.series import next_start

        previous = self.hashes[-1] if self.hashes else FIRST_HASH
        last_hash = links(self.run, len(self.events), previous, encoded, cause=cause)[-1].hash
        head = self._store.head(self.run)
        assert head is not None
        run, start = next_start(state, (*self.events, *events), last_hash)
        # Later than this run in any case, so that it counts as the newer of the two.
        created = max(last.at, head.created + 1)
        source = self._source_of_next(head, start.inputs)
        new = RunHead(
            run, head.workflow, head.fingerprint, created, 0, 0, FIRST_HASH, status="running", source=source
        )
        return NewRun(new, {"start": encode_command(start)})

    def close(self) -> None:
        os.close(self._head)


def to_text(event: Event) -> str:
    text = compact_json(encode(event))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, as an agent's JSON may contain one: no file can hold it, but JSON can escape it.
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def read_chain_head(folder: Path) -> tuple[int, str] | None:
    """The number and the hash of the last event, as stored outside the database."""
    try:
        words = (folder / CHAIN_HEAD).read_text("ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdecimal() else None


def against_outside(records: Sequence[Record], seq: int, last_hash: str) -> str | None:
    """A fault if the file outside is ahead of the log; it may be behind, since it is written after the commit."""
    if seq > len(records):
        return f"the log ends at event {len(records)}, and {CHAIN_HEAD} knows of {seq}"
    if seq and records[seq - 1].hash != last_hash:
        return f"event {seq} is not the one that {CHAIN_HEAD} knows"
    return None


def same_source(head: RunHead, _inputs: Collection[str]) -> str:
    """For logs whose runs do not continue."""
    return head.source


def open_log(
    store: Store,
    run: RunId,
    workflow: Workflow,
    run_dir: Path,
    source_of_next: SourceOfNext = same_source,
) -> Log:
    """Become the owner: claim a new epoch and fold the events into the state. The lease must be held."""
    epoch = store.claim(run)
    outside = read_chain_head(run_dir)
    records = read_records(store, run)
    fault = None if outside is None else against_outside(records, *outside)
    if fault is not None:
        raise untrusted(run, fault)
    events, hashes = events_of(records), [record.hash for record in records]
    del records  # The state of a long run uses their memory again.
    head = store.head(run)
    assert head is not None
    check_unchanged(head, workflow)
    state = fold(workflow, events)
    return Log(
        store,
        run,
        epoch=epoch,
        state=state,
        events=events,
        hashes=hashes,
        head_file=run_dir / CHAIN_HEAD,
        source_of_next=source_of_next,
    )

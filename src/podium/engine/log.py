"""The log of one run in the hands of its owner: state and events in step with what is stored.

Rule: nothing counts before it is committed. `say` stores all events of a turn in one transaction and only then
hands out the effects they ask for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from podium.core.codec import encode
from podium.core.effects import Effect
from podium.core.events import Event
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import Record, RunId
from podium.core.messages import Message, Refusal
from podium.core.model import Workflow
from podium.core.state import State
from podium.core.turn import turn
from podium.core.types import Millis
from podium.errors import ConfigurationError
from podium.ports.store import QueuedCommand, RunHead, Store
from podium.runtime.answers import validate_answer
from podium.runtime.records import events_of, read_records, untrusted
from podium.runtime.status import status_of

CHAIN_HEAD: Final = "chain_head"
DONE: Final = "done"


class DefinitionChanged(ConfigurationError):
    """The workflow is not the one the run was started with; going on would mix the two."""


class Log:
    """Made by `open_log`; belongs to whoever holds the lease of the run."""

    def __init__(
        self,
        store: Store,
        run: RunId,
        *,
        epoch: int,
        state: State,
        events: list[Event],
        head_file: Path,
    ) -> None:
        self.run = run
        self.epoch = epoch
        self.state = state
        self.events = events
        self.refused: list[str] = []
        """What was said to this owner and not followed, where nobody waits for a reply."""
        self._store = store
        self._head = os.open(head_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def say(
        self, message: Message, now: Millis, *, cause: str, letter: QueuedCommand | None = None
    ) -> tuple[Effect, ...] | Refusal:
        """One turn: what is said, all that follows, stored; then what has to be done about it."""
        said = validate_answer(self.state, message)
        taken = said if isinstance(said, Refusal) else turn(self.state, said, now)
        if isinstance(taken, Refusal):
            if letter is not None:
                self._store.answer(letter, taken.message)
            return taken
        if taken.events:
            self._append(taken.events, taken.state, cause, letter)
            self.state = taken.state
            self.events.extend(taken.events)
        elif letter is not None:
            self._store.answer(letter, DONE)
        return taken.effects

    def _append(
        self, events: Sequence[Event], state: State, cause: str, letter: QueuedCommand | None
    ) -> None:
        encoded = [(type(event).__name__, to_text(event)) for event in events]
        records = self._store.append(
            self.run,
            encoded,
            after=len(self.events),
            epoch=self.epoch,
            cause=cause,
            status=status_of(state),
            answers=None if letter is None else (letter, DONE),
        )
        # Outside the database, so that `verify` notices when events at the end of the log are gone. Of fixed length
        # and written over in place: one system call per turn.
        os.pwrite(self._head, f"{records[-1].seq:>12} {records[-1].hash}\n".encode(), 0)

    def close(self) -> None:
        os.close(self._head)


def _writer() -> Callable[[Any], str]:
    """JSON as text. `json` makes a new encoder for every value it is given, which takes longer than an event does.

    What the codec wrote is a tree, never a circle.
    """
    plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    write = make(None, plain.default, json.encoder.encode_basestring, None, ":", ",", False, False, True)
    return lambda value: "".join(write(value, 0))


_text: Final = _writer()


def to_text(event: Event) -> str:
    text = _text(encode(event))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, as an agent's JSON may hold one: no file can, but JSON has a spelling for it.
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def read_chain_head(folder: Path) -> tuple[int, str] | None:
    """The number and the hash of the last event, as they stand outside the database."""
    try:
        words = (folder / CHAIN_HEAD).read_text("ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdecimal() else None


def against_outside(records: Sequence[Record], seq: int, last_hash: str) -> str | None:
    """The file is written after the commit, so it may be behind the log and never ahead of it."""
    if seq > len(records):
        return f"the log ends at event {len(records)}, and {CHAIN_HEAD} knows of {seq}"
    if seq and records[seq - 1].hash != last_hash:
        return f"event {seq} is not the one that {CHAIN_HEAD} knows"
    return None


def open_log(store: Store, run: RunId, workflow: Workflow, run_dir: Path) -> Log:
    """Become the owner: a new epoch, and the state that the log stands for. The lease must be held."""
    epoch = store.claim(run)
    outside = read_chain_head(run_dir)
    records = read_records(store, run)
    fault = None if outside is None else against_outside(records, *outside)
    if fault is not None:
        raise untrusted(run, fault)
    events = events_of(records)
    head = store.head(run)
    assert head is not None
    check_unchanged(head, workflow)
    state = fold(workflow, events)
    return Log(store, run, epoch=epoch, state=state, events=events, head_file=run_dir / CHAIN_HEAD)


def check_unchanged(head: RunHead, workflow: Workflow) -> None:
    """Raises Changed if the workflow is not the one the run was started with."""
    if head.fingerprint != workflow.fingerprint:
        run = head.run
        raise DefinitionChanged(
            f"the definition of run {run} has changed since it was started",
            hint=f"go on with the new one: podium resume {run} --accept-changes   or undo the change, or end it as it "
            f"is: podium cancel {run} --force",
        )

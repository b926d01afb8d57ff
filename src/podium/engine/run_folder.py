"""Writes the folder of a run: views of its events for people and other programs; none of it is ever read back as truth.

Rule 1: a file is whole at every moment. Those that are written anew go through a temporary file, fsync and rename;
those that grow are compared with what the events say when a process begins with them, and repaired.
Rule 2: it costs a small share of the time. A turn of the engine takes less than a millisecond, these files take
several, and in long runs more; so a patient caller is put off for a while that grows with what the last writing took.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from podium.core.events import Event
from podium.core.state import State
from podium.files import atomic
from podium.ports.exporter import RunExporter
from podium.redaction.mask import Mask
from podium.runtime.question_text import read_stored
from podium.views.files import growing_logs
from podium.views.files import snapshot as files
from podium.views.files.summary import SUMMARY, summary_text
from podium.views.plain import encode_utf8
from podium.views.run.builder import RunViewBuilder
from podium.views.run.questions import Render, as_written, with_state
from podium.views.run.stored_text import with_stored
from podium.views.run.view import RunView

SHARE: Final = 20
"""A patient caller waits that many times as long as the last writing took."""

WHOLE: Final[dict[str, Callable[[RunView], str]]] = {
    files.RUN: files.run_text,
    files.STATE: files.state_text,
    files.MANIFEST: files.manifest_text,
    SUMMARY: summary_text,
}


class RunFolder:
    """The files of one run, written by the one process that owns it."""

    def __init__(
        self,
        run_dir: Path,
        mask: Mask,
        *,
        render: Render = as_written,
        exporters: Sequence[RunExporter] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dir = run_dir
        self._mask = mask
        self._render = render
        self._exporters = exporters
        self._clock = clock
        self._account = RunViewBuilder()
        self._seen = 0
        self._is_first = True
        self._is_current = False
        self._lines = dict.fromkeys(growing_logs.GROWING, "")
        """What has not been written yet."""
        self._sizes: dict[str, int] = {}
        """How long each growing file must be before the next lines; absent: it has not been looked at."""
        self._written: dict[str, str] = {}
        self._next = 0.0
        self._events: Sequence[Event] = ()

    def write(self, events: Sequence[Event], state: State | None, *, patient: bool = False) -> bool:
        """Bring the folder up to date with all events so far. False, to a patient caller only: not now, ask again."""
        if len(events) == self._seen and self._is_current:
            return True
        if patient and self._clock() < self._next:
            return False
        began = self._clock()
        self._is_current = False
        self._take(events)
        self._grow()
        self._renew(state)
        self._is_current = True
        took = self._clock() - began
        self._next = began + took + SHARE * took
        return True

    def rebuild(self, events: Sequence[Event], state: State | None = None) -> None:
        """Write everything anew, whatever is there."""
        self._sizes, self._written, self._is_current = {}, {}, False
        self.write(events, state)

    def _take(self, events: Sequence[Event]) -> None:
        self._events = events
        for name, text in _grown(events[self._seen :], self._seen, self._account, self._mask).items():
            self._lines[name] += text
        self._seen = len(events)

    def _grow(self) -> None:
        self._make_folder()
        if len(self._sizes) < len(self._lines):
            self._compare()
        for name, text in self._lines.items():
            self._lines[name] = ""
            if text:
                self._append(self._dir / name, encode_utf8(text))

    def _compare(self) -> None:
        """The first look of this process at files that others may have written."""
        whole = self._lines if self._is_first else self._whole()
        for name, text in whole.items():
            self._repair(self._dir / name, text)
        self._lines = dict.fromkeys(growing_logs.GROWING, "")
        self._is_first = False

    def _whole(self) -> dict[str, str]:
        return _grown(self._events, 0, RunViewBuilder(), self._mask)

    def _append(self, path: Path, data: bytes) -> None:
        # Until it is done nothing is known of the file: after a full disk the next writing compares it again.
        expected = self._sizes.pop(path.name)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "ab") as file:
            is_ours = os.fstat(handle).st_size == expected
            if is_ours:
                file.write(data)
        if is_ours:
            self._sizes[path.name] = expected + len(data)
        else:
            # Somebody else wrote to it, such as `podium show --rebuild` a moment ago.
            self._repair(path, self._whole()[path.name])

    def _repair(self, path: Path, expected: str) -> None:
        """Add what is missing if the file is a beginning of what it should be; otherwise write it anew."""
        data = encode_utf8(expected)
        present = _content(path)
        if present is not None and data.startswith(present):
            self._sizes[path.name] = len(present)
            if len(present) < len(data):
                self._append(path, data[len(present) :])
        else:
            atomic.write(path, data)
        self._sizes[path.name] = len(data)

    def _renew(self, state: State | None) -> None:
        view = self._account.view()
        if state is not None:
            view = with_state(view, state, self._render)
        else:
            view = with_stored(view, read_stored(self._dir))
        for name, text_of in WHOLE.items():
            text = self._mask.text(text_of(view))
            if self._written.get(name) != text:
                atomic.write(self._dir / name, encode_utf8(text))
                self._written[name] = text
        for exporter in self._exporters:
            exporter.write(view, self._events)

    def _make_folder(self) -> None:
        if self._sizes:
            return
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.discard_leftovers(self._dir, (*WHOLE, *growing_logs.GROWING))


def _grown(events: Sequence[Event], after: int, account: RunViewBuilder, mask: Mask) -> dict[str, str]:
    """What these events add to each growing file; the account has taken those up to `after`."""
    found: dict[str, list[str]] = {name: [] for name in growing_logs.GROWING}
    for seq, event in enumerate(events, start=after + 1):
        account.feed((event,))
        for name, line in growing_logs.lines_of(seq, event, account):
            found[name].append(f"{line}\n")
    return {name: _masked(lines, mask) for name, lines in found.items()}


def _masked(lines: list[str], mask: Mask) -> str:
    """Line by line, since what a line becomes must not depend on those it was written with; but mostly there is
    nothing to hide, and one look over all of them says so."""
    text = "".join(lines)
    return "".join(mask.text(line) for line in lines) if mask.hides(text) else text


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if not path.is_symlink() else None
    except FileNotFoundError:
        return None

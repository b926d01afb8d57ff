"""Writes the folder of a run: views of its events for people and other programs; the engine never relies on them.

Rule 1: a file is complete at every moment. A snapshot is replaced by a whole-file write; a growing log is compared with
the events when a process first writes it, and repaired, unless it is exactly as the last owner left it.
Rule 2: writing takes a small share of the time. A turn takes less than a millisecond, these files take several and more
in long runs; so a patient caller has to wait for a multiple of what the last write took.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from podium.core.events import Event
from podium.core.state import State
from podium.engine.run_record import apply_record, record_of
from podium.engine.written_files import (
    MARKER,
    WrittenFile,
    content_of,
    digest_of,
    unchanged_files,
    write_marker,
)
from podium.files import atomic
from podium.ports.exporter import RunExporter
from podium.redaction.mask import Mask
from podium.runtime.stored_view import read_stored
from podium.views.files import growing_logs
from podium.views.files import snapshot as files
from podium.views.files.run_json import dump_text
from podium.views.files.summary import SUMMARY, parts_of, summary_text
from podium.views.plain import encode_utf8
from podium.views.run.builder import RunViewBuilder
from podium.views.run.questions import Render, as_written, with_state
from podium.views.run.stored_text import with_stored
from podium.views.run.view import RunView
from podium.views.text.next_steps import DUMP

SHARE: Final = 20
"""A patient caller waits this many times as long as the last write took."""


SNAPSHOTS: Final = (files.RUN, files.STATE, files.MANIFEST, SUMMARY, DUMP)


class RunFolder:
    """The files of one run; belongs to the process that owns the run."""

    def __init__(
        self,
        run_dir: Path,
        mask: Mask,
        *,
        render: Render = as_written,
        exporters: Sequence[RunExporter] = (),
        earlier: RunViewBuilder | None = None,
        project: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dir = run_dir
        self._mask = mask
        self._render = render
        self._exporters = exporters
        self._clock = clock
        self._project = project
        self.faults: list[str] = []
        """What the workflow wants and could not be done, such as a link to this folder."""
        self._builder = RunViewBuilder()
        self._earlier = earlier
        """Saves reading all events again, if an earlier owner wrote the lines of exactly these."""
        self._count = 0
        self._is_first = True
        self._is_current = False
        self._lines = dict.fromkeys(growing_logs.GROWING, "")
        """What has not been written yet."""
        self._files: dict[str, WrittenFile] = {}
        """What each growing file must have before the next lines; absent: not compared yet."""
        self._written: dict[str, bytes] = {}
        """The content of each snapshot."""
        self._rows = files.StepRows()
        self._state_rows = files.StateRows()
        self._next = 0.0
        self._events: Sequence[Event] = ()
        self._lock = threading.Lock()
        """Two threads may want to write: the one that follows the log, and an attempt that needs the files now."""

    def write(
        self,
        events: Sequence[Event],
        state: State | None,
        *,
        patient: bool = False,
        hashes: Sequence[str] = (),
    ) -> bool:
        """Bring the folder up to date with all events so far; False tells a patient caller to ask again later.

        `hashes`: those of the events in their chain. With them, what an earlier owner wrote is not made again.
        """
        with self._lock:
            return self._write(events, state, patient=patient, hashes=hashes)

    def _write(
        self, events: Sequence[Event], state: State | None, *, patient: bool, hashes: Sequence[str]
    ) -> bool:
        if len(events) == self._count and self._is_current:
            return True
        if patient and self._clock() < self._next:
            return False
        start = self._clock()
        self._is_current = False
        if self._is_first and hashes:
            self._take_over(events, hashes)
        self._add_lines(events)
        self._write_growing()
        self._write_snapshots(state)
        if hashes and not patient:
            write_marker(self._dir, self._files, self._written, hashes, self._count)
        self._is_current = True
        took = self._clock() - start
        self._next = start + took + SHARE * took
        return True

    def rebuild(self, events: Sequence[Event], state: State | None = None) -> None:
        """Write all files again, whatever they contain."""
        self._files, self._written, self._is_current = {}, {}, False
        self.write(events, state)

    def _take_over(self, events: Sequence[Event], hashes: Sequence[str]) -> None:
        """Go on after the lines that an earlier owner wrote, if they are still there unchanged."""
        unchanged = unchanged_files(self._dir, growing_logs.GROWING, hashes[: len(events)], self._mask)
        if unchanged is not None:
            self._count, self._files = unchanged.seq, unchanged.growing
            if self._earlier is not None and self._earlier.seq == self._count:
                self._builder = self._earlier
            else:
                self._builder.feed(events[: self._count])
            view = self._builder.view()
            self._rows.take_over(view.steps, unchanged.run_text.decode("utf-8", "replace"))
            self._state_rows.take_over(view, unchanged.state_text.decode("utf-8", "replace"))
            self._is_first = False
            self._discard_leftovers()

    def _add_lines(self, events: Sequence[Event]) -> None:
        self._events = events
        for name, text in _new_lines(events[self._count :], self._count, self._builder, self._mask).items():
            self._lines[name] += text
        self._count = len(events)

    def _write_growing(self) -> None:
        self._make_folder()
        if len(self._files) < len(self._lines):
            self._compare()
        for name, text in self._lines.items():
            self._lines[name] = ""
            if text:
                self._append(self._dir / name, encode_utf8(text))

    def _compare(self) -> None:
        """Compare the growing files with the events before the first write: another process may have written them."""
        lines = self._lines if self._is_first else self._all_lines()
        for name, text in lines.items():
            self._repair(self._dir / name, text)
        self._lines = dict.fromkeys(growing_logs.GROWING, "")
        self._is_first = False

    def _all_lines(self) -> dict[str, str]:
        return _new_lines(self._events, 0, RunViewBuilder(), self._mask)

    def _append(self, path: Path, data: bytes) -> None:
        # Forget the file until the write is done, so that after a full disk the next write compares it again.
        size, digest = self._files.pop(path.name)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "ab") as file:
            is_ours = os.fstat(handle).st_size == size
            if is_ours:
                file.write(data)
        if is_ours:
            digest.update(data)
            self._files[path.name] = WrittenFile(size + len(data), digest)
        else:
            # Another process wrote to it, such as `podium show --rebuild` a moment ago.
            self._repair(path, self._all_lines()[path.name])

    def _repair(self, path: Path, expected: str) -> None:
        """Append what is missing if the file is a prefix of the expected text; otherwise replace it."""
        data = encode_utf8(expected)
        present = content_of(path)
        if present is not None and data.startswith(present):
            self._files[path.name] = WrittenFile(len(present), digest_of(present))
            if len(present) < len(data):
                self._append(path, data[len(present) :])
        else:
            atomic.write(path, data)
            self._files[path.name] = WrittenFile(len(data), digest_of(data))

    def _write_snapshots(self, state: State | None) -> None:
        view = self._builder.view()
        if state is not None:
            view = with_state(view, state, self._render)
        else:
            view = with_stored(view, read_stored(self._dir))
        view = view._replace(folder=str(self._dir.absolute()))
        for name, made in self._texts(view, state):
            if made is None:
                continue
            data = encode_utf8(self._mask.text(made))
            if self._written.get(name) != data:
                atomic.write(self._dir / name, data)
                self._written[name] = data
        if state is not None and self._project is not None and not self.faults:
            fault = apply_record(state, self._dir, self._project)
            self.faults += [] if fault is None else [fault]
        for exporter in self._exporters:
            exporter.write(view, self._events)

    def _texts(self, view: RunView, state: State | None) -> Iterator[tuple[str, str | None]]:
        """The snapshots; one that is None is not written."""
        yield files.RUN, files.run_text(view, self._rows)
        yield files.STATE, files.state_text(view, self._state_rows)
        yield files.MANIFEST, files.manifest_text(view)
        parts = parts_of(record_of(state, self._dir))
        yield SUMMARY, None if parts is None else summary_text(view, parts)
        yield DUMP, dump_text(view)

    def _make_folder(self) -> None:
        if self._files:
            return
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._discard_leftovers()

    def _discard_leftovers(self) -> None:
        atomic.discard_leftovers(self._dir, (*SNAPSHOTS, *growing_logs.GROWING, MARKER))


def _new_lines(events: Sequence[Event], after: int, builder: RunViewBuilder, mask: Mask) -> dict[str, str]:
    """What these events add to each growing file; the builder has been fed the events up to `after`."""
    lines: dict[str, list[str]] = {name: [] for name in growing_logs.GROWING}
    for seq, event in enumerate(events, start=after + 1):
        builder.feed((event,))
        for name, line in growing_logs.lines_of(seq, event, builder):
            lines[name].append(f"{line}\n")
    return {name: _masked(texts, mask) for name, texts in lines.items()}


def _masked(lines: list[str], mask: Mask) -> str:
    """Mask line by line, since a line must not depend on those it is written with; but only if there is a secret."""
    text = "".join(lines)
    return "".join(mask.text(line) for line in lines) if mask.hides(text) else text

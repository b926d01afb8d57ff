"""Sends spans to a collector while a run is driven, each when its step ends.

Rule: a collector that is slow or gone never holds up a run. What could not be sent is told once, and `podium export --otlp`
sends it later.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from podium.app.telemetry.send import headers_of, vendors
from podium.errors import PodiumError
from podium.views.telemetry.points import points_of
from podium.views.telemetry.spans import Span, SpanReader

if TYPE_CHECKING:
    from podium.adapters.exporters.otlp import Otlp
    from podium.ports.runtime import DrivenRun, OnTurn

ADDRESS: Final = "PODIUM_OTLP"
"""The variable that names the collector; nothing is sent without it."""
MOST: Final = 10_000
FLUSH_S: Final = 3.0


class LiveSender:
    """Sends what a driven run reports from a thread of its own."""

    def __init__(self, collector: Otlp, on_error: Callable[[str], None]) -> None:
        self._collector = collector
        self._on_error = on_error
        self._queue: queue.Queue[tuple[str, list[Span]] | None] = queue.Queue(MOST)
        self._readers: dict[str, tuple[SpanReader, int, list[Span]]] = {}
        self._told = False
        self._thread = threading.Thread(target=self._work, name="telemetry", daemon=True)
        self._thread.start()

    def on_turn(self, driven: DrivenRun) -> None:
        reader, seq, sent = self._readers.get(driven.run, (SpanReader(vendors=vendors()), 0, []))
        log = driven.events
        spans = [span for event in log[seq:] for span in reader.take(event)]
        sent += spans
        self._readers[driven.run] = reader, len(log), sent
        if spans:
            self._put(driven.run, spans)

    def _put(self, run: str, spans: list[Span]) -> None:
        try:
            self._queue.put_nowait((run, spans))
        except queue.Full:
            self._fail(f"more than {MOST} batches wait to be sent")

    def close(self) -> None:
        """Send the metrics of what has ended, and wait a moment for the rest."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(FLUSH_S)

    def _work(self) -> None:
        while (batch := self._queue.get()) is not None:
            try:
                self._collector.send_spans(*batch)
            except PodiumError as error:
                self._fail(error.message)
        for run, (_, _, spans) in self._readers.items():
            if spans:
                started, ended = min(span.started for span in spans), max(span.ended for span in spans)
                try:
                    self._collector.send_points(run, points_of(spans), started, ended)
                except PodiumError as error:
                    self._fail(error.message)

    def _fail(self, message: str) -> None:
        if not self._told:
            self._told = True
            self._on_error(f"telemetry: {message}; send it later: podium export --otlp URL RUN")


def live_sender(env: Mapping[str, str], on_error: Callable[[str], None]) -> LiveSender | None:
    """None if no collector is named."""
    address = env.get(ADDRESS)
    if not address:
        return None
    from podium.adapters.exporters.otlp import Otlp

    return LiveSender(Otlp(address, headers_of(os.environ)), on_error)


def with_sender(sender: LiveSender, on_turn: OnTurn | None) -> OnTurn:
    def both(driven: DrivenRun) -> None:
        sender.on_turn(driven)
        if on_turn is not None:
            on_turn(driven)

    return both

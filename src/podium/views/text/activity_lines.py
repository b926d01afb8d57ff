"""Prints the activity of an attempt as lines: what it says as text, what it does with a star."""

from __future__ import annotations

from collections.abc import Iterator

from podium.views.format import clock_time
from podium.views.plain import harmless
from podium.views.run.activity import PIECES, Activity, describe, read_activity


class ActivityLines:
    """Turns the content of progress.jsonl, piece by piece, into lines for a person."""

    def __init__(self) -> None:
        self._record = b""
        self._text = ""
        self._at = ""

    def feed(self, data: bytes) -> Iterator[str]:
        *records, self._record = (self._record + data).split(b"\n")
        for record in records:
            activity = read_activity(record)
            if activity is not None:
                yield from self._lines(activity)

    def finish(self) -> Iterator[str]:
        if self._text:
            yield self._line(self._text)
            self._text = ""

    def _lines(self, activity: Activity) -> Iterator[str]:
        stamp = clock_time(activity.at, seconds=True)
        if activity.kind in PIECES:
            self._at = self._at if self._text else stamp
            *lines, self._text = (self._text + activity.text).split("\n")
            for line in lines:
                yield self._line(line)
                self._at = stamp
            return
        yield from self.finish()
        text = describe(activity.kind, activity.text, activity.until)
        if text:
            yield f"{stamp}  * {text}"

    def _line(self, text: str) -> str:
        return f"{self._at}  {harmless(text)}".rstrip()

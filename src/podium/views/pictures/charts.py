"""Charts of a run as SVG: its attempts over time, and bars with their values in words.

The axis of time is elastic: a long stretch in which nothing worked is drawn as a short break. Otherwise a night of waiting
for a person would leave no room for the work around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from podium.core.addresses import without_attempts, without_visits
from podium.core.types import Address, Millis
from podium.views.format import duration
from podium.views.pictures.states import SIGNS, Tone
from podium.views.pictures.svg import size, text
from podium.views.plain import cut_to_cells
from podium.views.run.attempts import AttemptView, outcome_of

WORK: Final = 620
"""The width of all stretches in which something worked, in pixels."""
BREAK: Final = 40
LABELS: Final = 220
ROW: Final = 22
BAR_ROW: Final = 20
LONGEST_BAR: Final = 420
MOST_ROWS: Final = 200
LONG: Final = 0.1
"""A stretch without work is a break if it is longer than this share of the time in which something worked."""

Kind: TypeAlias = Literal["work", "idle"]


class Stretch(NamedTuple):
    """A part of the axis; an idle one that is long takes `BREAK` pixels whatever its length."""

    kind: Kind
    start: Millis
    end: Millis
    x: float
    width: float

    @property
    def is_break(self) -> bool:
        return self.kind == "idle" and self.width == BREAK


class Axis(NamedTuple):
    stretches: tuple[Stretch, ...]

    def x(self, at: Millis) -> float:
        """Where a time is drawn."""
        for stretch in self.stretches:
            if at <= stretch.end:
                share = (at - stretch.start) / max(1, stretch.end - stretch.start)
                return stretch.x + stretch.width * min(1.0, max(0.0, share))
        return self.width

    @property
    def width(self) -> float:
        return sum(stretch.width for stretch in self.stretches)


def axis_of(spans: Iterable[tuple[Millis, Millis]]) -> Axis:
    """The axis for these stretches of work, which may overlap."""
    parts = _parts(sorted(spans))
    worked = sum(end - start for kind, start, end in parts if kind == "work")
    is_long = [kind == "idle" and end - start > LONG * worked for kind, start, end in parts]
    drawn = sum(end - start for (_, start, end), long in zip(parts, is_long, strict=True) if not long)
    x, stretches = 0.0, []
    for (kind, start, end), long in zip(parts, is_long, strict=True):
        width = float(BREAK) if long else WORK * (end - start) / max(1, drawn)
        stretches.append(Stretch(kind, start, end, x, width))
        x += width
    return Axis(tuple(stretches))


def _parts(spans: Sequence[tuple[Millis, Millis]]) -> list[tuple[Kind, Millis, Millis]]:
    """Stretches of work, merged where they overlap, and the idle ones between them."""
    parts: list[tuple[Kind, Millis, Millis]] = []
    for start, end in spans:
        if parts and start <= parts[-1][2]:
            parts[-1] = ("work", parts[-1][1], max(end, parts[-1][2]))
            continue
        if parts:
            parts.append(("idle", parts[-1][2], start))
        parts.append(("work", start, end))
    return parts


def timeline(attempts: Sequence[AttemptView], now: Millis) -> str:
    """The timeline as an SVG element for a page that has the style of pictures; "" if nothing was attempted."""
    rows = _rows(attempts)
    if not rows:
        return ""
    shown = list(rows.items())[:MOST_ROWS]
    axis = axis_of((each.started, _end(each, now)) for each in attempts)
    width, height = LABELS + axis.width + 90, ROW * (len(shown) + 1) + 8
    parts = [f'<svg class="picture timeline" role="img" aria-label="timeline" {size(width, height)}>']
    parts += [_break(stretch, height) for stretch in axis.stretches if stretch.is_break]
    for number, (place, bars) in enumerate(shown):
        y = ROW * number + 4
        name = cut_to_cells(str(place), 30)
        parts.append(f'<text class="label" x="{LABELS - 8}" y="{y + 14}">{text(name)}</text>')
        parts += [_bar(each, axis, y, now) for each in bars]
    total = max(_end(each, now) for each in attempts) - min(each.started for each in attempts)
    parts.append(f'<text class="note" x="{LABELS}" y="{height - 8}">0s</text>')
    parts.append(
        f'<text class="note" x="{LABELS + axis.width:.1f}" y="{height - 8}">{duration(total)}</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rows(attempts: Sequence[AttemptView]) -> dict[Address, list[AttemptView]]:
    """The attempts of each step; visits and the gates of later attempts share the row of the first."""
    rows: dict[Address, list[AttemptView]] = {}
    for each in attempts:
        rows.setdefault(Address(without_attempts(without_visits(each.path)).replace("#/", "/")), []).append(
            each
        )
    return rows


def _end(attempt: AttemptView, now: Millis) -> Millis:
    return now if attempt.ended is None else attempt.ended


def tone_of(attempt: AttemptView) -> Tone:
    if attempt.ended is None:
        return "running"
    if attempt.passed:
        return "passed"
    return "idle" if attempt.kind in ("cancelled", "lost", "asked") else "failed"


def _bar(attempt: AttemptView, axis: Axis, y: int, now: Millis) -> str:
    start, end = axis.x(attempt.started), axis.x(_end(attempt, now))
    tone = tone_of(attempt)
    took = duration(_end(attempt, now) - attempt.started)
    words = ", ".join(filter(None, (outcome_of(attempt), attempt.reason, attempt.worker, took)))
    name = text(f"{attempt.path} attempt {attempt.number}: {words}")
    return (
        f'<g class="bar {tone}" aria-label="{name}"><title>{name}</title>'
        f'<rect x="{LABELS + start:.1f}" y="{y}" width="{max(3.0, end - start):.1f}" height="{ROW - 6}" rx="3"/>'
        f'<text class="{tone}" x="{LABELS + end + 5:.1f}" y="{y + 13}">{SIGNS[tone]}</text></g>'
    )


def _break(stretch: Stretch, height: int) -> str:
    x = LABELS + stretch.x
    waited = duration(stretch.end - stretch.start)
    return (
        f'<g class="break"><title>nothing worked for {waited}</title>'
        f'<rect x="{x:.1f}" y="0" width="{stretch.width:.0f}" height="{height - ROW}"/>'
        f'<text class="note" x="{x + 2:.1f}" y="{height - 8}">+{waited}</text></g>'
    )


class BarOf(NamedTuple):
    label: str
    value: float
    words: str
    """The value as a person reads it; an unknown one is said, never drawn as zero."""


def bars(rows: Sequence[BarOf], title: str) -> str:
    """One bar per row, the longest as wide as the chart; "" without rows."""
    if not rows:
        return ""
    most = max(row.value for row in rows) or 1.0
    width, height = LABELS + LONGEST_BAR + 170, BAR_ROW * len(rows) + 6
    parts = [f'<svg class="picture chart" role="img" aria-label="{text(title)}" {size(width, height)}>']
    for number, row in enumerate(rows):
        y = BAR_ROW * number + 4
        length = LONGEST_BAR * row.value / most
        parts.append(
            f'<g><text class="label" x="{LABELS - 8}" y="{y + 12}">{text(cut_to_cells(row.label, 30))}</text>'
            f'<rect class="sum" x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR_ROW - 6}" rx="2"/>'
            f'<text class="note" x="{LABELS + length + 6:.1f}" y="{y + 12}">{text(row.words)}</text></g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"

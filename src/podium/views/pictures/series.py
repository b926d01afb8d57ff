"""Charts over many runs as SVG: values over time, and shares with their intervals. For a page with the style of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from podium.views.pictures.svg import size, text
from podium.views.plain import cut_to_cells

WIDTH: Final = 620
HEIGHT: Final = 150
LEFT: Final = 60
LABELS: Final = 220
ROW: Final = 24
TOP: Final = 14


class Point(NamedTuple):
    label: str
    value: float | None
    """None where there is no value: the line has a gap."""
    words: str


class Whisker(NamedTuple):
    label: str
    value: float | None
    low: float | None
    high: float | None
    """Between 0 and 1; None for all if there are too few samples."""
    words: str


def line(points: Sequence[Point], title: str) -> str:
    """Values in order, from the lowest to the highest; "" without values."""
    values = [point.value for point in points if point.value is not None]
    if not values:
        return ""
    low, high = min(values), max(values)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    step = WIDTH / max(1, len(points) - 1)
    parts = [_open(title, LEFT + WIDTH + 60, HEIGHT + 40)]
    for value, top in ((high, TOP), (low, TOP + HEIGHT)):
        parts.append(f'<path class="line" d="M{LEFT} {top}H{LEFT + WIDTH}"/>')
        parts.append(f'<text class="label" x="{LEFT - 8}" y="{top + 4}">{value:.3g}</text>')
    before: tuple[float, float] | None = None
    for number, point in enumerate(points):
        x = LEFT + step * number
        if point.value is None:
            before = None
            continue
        y = TOP + HEIGHT * (high - point.value) / (high - low)
        if before is not None:
            parts.append(f'<path class="series" d="M{before[0]:.1f} {before[1]:.1f}L{x:.1f} {y:.1f}"/>')
        parts.append(
            f'<circle class="sum" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{text(f"{point.label}: {point.words}")}</title></circle>'
        )
        before = (x, y)
    for number, point in ((0, points[0]), (len(points) - 1, points[-1])):
        parts.append(
            f'<text class="note" x="{LEFT + step * number - 24:.1f}" y="{TOP + HEIGHT + 20}">{text(cut_to_cells(point.label, 14))}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def whiskers(rows: Sequence[Whisker], title: str) -> str:
    """A dot with its interval for each row, on an axis from 0 to 100 %; "" without rows."""
    if not rows:
        return ""
    height = ROW * len(rows) + 30
    parts = [_open(title, LABELS + WIDTH * 0.7 + 200, height)]
    for share in (0.0, 0.5, 1.0):
        x = _at(share)
        parts.append(f'<path class="line" d="M{x:.1f} 4V{height - 22}"/>')
        parts.append(f'<text class="note" x="{x - 10:.1f}" y="{height - 8}">{share:.0%}</text>')
    for number, row in enumerate(rows):
        y = ROW * number + 18
        parts.append(
            f'<text class="label" x="{LABELS - 8}" y="{y + 4}">{text(cut_to_cells(row.label, 30))}</text>'
        )
        if row.value is not None and row.low is not None and row.high is not None:
            parts.append(f'<path class="series" d="M{_at(row.low):.1f} {y}H{_at(row.high):.1f}"/>')
            parts.append(f'<circle class="sum" cx="{_at(row.value):.1f}" cy="{y}" r="5"/>')
        parts.append(f'<text class="note" x="{_at(1.0) + 10:.1f}" y="{y + 4}">{text(row.words)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _at(share: float) -> float:
    return LABELS + WIDTH * 0.7 * share


def _open(title: str, width: float, height: float) -> str:
    return f'<svg class="picture chart" role="img" aria-label="{text(title)}" {size(width, height)}>'

"""Paints a figure as SVG: text only, no script, no reference to anything outside.

Colours are those of the statuses (`STYLE`), with enough contrast in both schemes and for colour-blind eyes; a sign and a word
always come with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from podium.core.types import Address
from podium.views.pictures.figure import Box, Figure, Line, Row
from podium.views.pictures.states import NodeState
from podium.views.plain import visible

CELL_WIDTH: Final = 8
CELL_HEIGHT: Final = 17
MARGIN: Final = 8

TONES: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    # tone: (text, ground) in the light scheme, then in the dark one
    "passed": (("#0a6f3c", "#e3f4ea"), ("#8ff0d6", "#0f2d24")),
    "failed": (("#8b0000", "#fdecea"), ("#ff8a7a", "#3a1714")),
    "running": (("#0b5cad", "#e6f0fb"), ("#6cb6ff", "#10263d")),
    "waiting": (("#a06000", "#fff8e8"), ("#ffc14d", "#3a2a08")),
    "idle": (("#5f6873", "#ffffff"), ("#9aa5b1", "#161b22")),
    "stale": (("#5f6873", "#f1f3f5"), ("#9aa5b1", "#1d232b")),
}

_PAPER: Final = (("#1f2328", "#ffffff", "#8c959f", "#a06000"), ("#e6edf3", "#0d1117", "#6e7681", "#ffc14d"))
"""Text, ground, lines and ways back, in both schemes."""


def scheme(number: int) -> str:
    """The colours as custom properties: 0 is the light scheme, 1 the dark one."""
    ink, paper, line, jump = _PAPER[number]
    tones = "".join(
        f"--{tone}:{colours[number][0]};--{tone}-ground:{colours[number][1]};"
        for tone, colours in TONES.items()
    )
    return f"--ink:{ink};--paper:{paper};--line:{line};--jump:{jump};{tones}"


STYLE: Final = (
    f":root{{color-scheme:light dark;{scheme(0)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{scheme(1)}}}}}"
    ".picture{font:13px system-ui,sans-serif}"
    ".picture text{fill:var(--ink)}"
    ".picture .box rect{fill:var(--paper);stroke:var(--line)}"
    ".picture .together>rect{stroke-dasharray:5 4}"
    ".picture .loop>rect.behind{opacity:.5}"
    ".picture .title{font-weight:600}"
    ".picture .about,.picture .note{fill:var(--idle);font-size:12px}"
    ".picture .gate{font:12px ui-monospace,monospace}"
    ".picture .exit{fill:var(--jump);font-size:12px;text-anchor:end}"
    ".picture .line{fill:none;stroke:var(--line);stroke-width:1.3;shape-rendering:crispEdges}"
    ".picture .head{fill:var(--line)}"
    ".picture .line.jump{stroke:var(--jump)}"
    ".picture .head.jump{fill:var(--jump)}"
    ".picture .sum{fill:var(--running)}"
    ".picture .series{fill:none;stroke:var(--running);stroke-width:2}"
    ".picture .label{text-anchor:end;font-size:12px}"
    ".picture .break rect{fill:var(--stale-ground);stroke:var(--line);stroke-dasharray:2 3}"
    + "".join(
        f".picture .box.{tone}>rect,.picture .bar.{tone}>rect{{fill:var(--{tone}-ground);stroke:var(--{tone})}}"
        f".picture .{tone} .state,.picture text.{tone}{{fill:var(--{tone})}}"
        for tone in TONES
    )
)


def paint(
    figure: Figure, title: str, states: Mapping[Address, NodeState] | None = None, *, alone: bool = True
) -> str:
    """The figure as an SVG element. `alone`: with its style, as a file of its own; otherwise the page has it."""
    width = figure.width * CELL_WIDTH + 2 * MARGIN
    height = figure.height * CELL_HEIGHT + 2 * MARGIN
    name = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    style = f"<style>{STYLE}.picture{{background:var(--paper)}}</style>" if alone else ""
    parts = [
        f'<svg{name} class="picture" role="img" aria-label="{text(title)}" {size(width, height)}>{style}',
        *(_box(box, states or {}) for box in figure.boxes),
        *(_line(line) for line in figure.lines),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def size(width: float, height: float) -> str:
    """The attributes of an SVG element of this size."""
    return f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}"'


def text(value: str) -> str:
    """Any text as the content of an element or an attribute: escaped, with what is invisible made visible."""
    return escape(visible(value), quote=True)


def _box(box: Box, states: Mapping[Address, NodeState]) -> str:
    state = states.get(box.path)
    classes = " ".join(filter(None, ("box", box.kind, state.tone if state is not None else "")))
    x, y = _x(box.x), _y(box.y)
    size = f'width="{_n((box.width - 1) * CELL_WIDTH)}" height="{_n((box.height - 1) * CELL_HEIGHT)}" rx="6"'
    behind = f'<rect class="behind" x="{_n(x + 4)}" y="{_n(y + 4)}" {size}/>' if box.kind == "loop" else ""
    rows = "".join(_row(box, row, states) for row in box.rows)
    name = text(_name(box, state))
    return (
        f'<g class="{classes}" data-path="{text(box.path)}" aria-label="{name}"><title>{name}</title>'
        f'{behind}<rect x="{_n(x)}" y="{_n(y)}" {size}/>{rows}</g>'
    )


def _name(box: Box, state: NodeState | None) -> str:
    if state is None:
        return box.title
    return f"{box.title}: {', '.join(filter(None, (state.word, state.detail)))}"


def _row(box: Box, row: Row, states: Mapping[Address, NodeState]) -> str:
    state = states.get(row.path)
    words, tone = row.text, ""
    if state is not None and row.kind in ("title", "gate"):
        words = f"{state.sign} {words}"
        tone = f" {state.tone}" if row.kind == "gate" else ""
    x = box.right - 0.5 if row.kind == "exit" else box.x + 2
    return (
        f'<text class="{row.kind}{tone}" x="{_n(_x(x))}" y="{_n(_y(box.y + row.y) + 4)}">{text(words)}</text>'
    )


def _line(line: Line) -> str:
    points = " ".join(f"{_n(_x(point.x))},{_n(_y(point.y))}" for point in line.points)
    before, last = line.points[-2:]
    dx, dy = (last.x > before.x) - (last.x < before.x), (last.y > before.y) - (last.y < before.y)
    label = f"<title>{text(line.label)}</title>" if line.label else ""
    return f'<polyline class="line {line.kind}" points="{points}">{label}</polyline>{_head(line, dx, dy)}'


def _head(line: Line, dx: int, dy: int) -> str:
    """A triangle whose tip is on the border of the target."""
    tip = (_x(line.points[-1].x), _y(line.points[-1].y))
    corners: Iterator[tuple[float, float]] = (
        (tip[0] - 7 * dx + 4 * dy * side, tip[1] - 7 * dy + 4 * dx * side) for side in (1, -1)
    )
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in (tip, *corners))
    return f'<polygon class="head {line.kind}" points="{points}"/>'


def _x(cell: float) -> float:
    return MARGIN + (cell + 0.5) * CELL_WIDTH


def _y(cell: float) -> float:
    return MARGIN + (cell + 0.5) * CELL_HEIGHT


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")

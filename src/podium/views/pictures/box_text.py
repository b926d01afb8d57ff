"""Paints a figure in box characters, or in plain ASCII."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from podium.core.types import Address
from podium.views.pictures.figure import Box, Figure, Line, Point
from podium.views.pictures.states import NodeState
from podium.views.plain import cells

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8

_CHARACTERS: Final = dict(
    zip(
        (UP | DOWN, LEFT | RIGHT, DOWN | RIGHT, DOWN | LEFT, UP | RIGHT, UP | LEFT),
        "│─┌┐└┘",
        strict=True,
    )
) | {
    UP | DOWN | RIGHT: "├",
    UP | DOWN | LEFT: "┤",
    LEFT | RIGHT | DOWN: "┬",
    LEFT | RIGHT | UP: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
    UP: "│",
    DOWN: "│",
    LEFT: "─",
    RIGHT: "─",
}
_DASHED: Final = {"│": "┊", "─": "┄"}
_HEADS: Final = {DOWN: "▼", LEFT: "◀", RIGHT: "▶", UP: "▲"}
CHARACTERS: Final = "│┊─┄┌┐└┘├┤┬┴┼▼◀▶▲✓✕·↺"
"""What is painted besides the texts; a terminal that lacks any of these gets ASCII."""
_ASCII: Final = str.maketrans(CHARACTERS, "|:--+++++++++v<>^*x.~")


def paint(figure: Figure, states: Mapping[Address, NodeState] | None = None, *, unicode: bool = True) -> str:
    """The figure as text. With `states`, each title begins with the sign of its state."""
    canvas = _Canvas(figure.width + 1, figure.height)
    for box in figure.boxes:
        canvas.clear(box)
        canvas.border(box)
        for row in box.rows:
            _write_row(
                canvas, box, row.y, _row_text(row.kind, row.text, (states or {}).get(row.path)), row.kind
            )
    for line in figure.lines:
        canvas.line(line)
    text = canvas.text()
    return text if unicode else text.translate(_ASCII)


def _row_text(kind: str, text: str, state: NodeState | None) -> str:
    return f"{state.sign} {text}" if state is not None and kind in ("gate", "title") else text


def _write_row(canvas: _Canvas, box: Box, y: int, text: str, kind: str) -> None:
    """Texts begin at the left, exits end at the border that their line leaves from."""
    x = box.right - 1 - cells(text) if kind == "exit" else box.x + 2
    canvas.write(x, box.y + y, text, box.right)


class _Canvas:
    """Characters by cell, and for lines the sides that they leave a cell by, so that crossing lines are joined."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._texts: dict[Point, str] = {}
        self._sides: dict[Point, int] = {}
        self._dashed: set[Point] = set()

    def clear(self, box: Box) -> None:
        """A box hides the border of the box it lies on; only texts and borders of enclosing boxes were there."""
        for y in range(box.y, box.bottom + 1):
            for x in range(box.x, box.right + 1):
                self._sides.pop(Point(x, y), None)

    def border(self, box: Box) -> None:
        dashed = box.kind == "together"
        for x in range(box.x, box.right + 1):
            sides = (LEFT if x > box.x else 0) | (RIGHT if x < box.right else 0)
            for y in (box.y, box.bottom):
                self._join(Point(x, y), sides, dashed=dashed and box.x < x < box.right)
        for y in range(box.y, box.bottom + 1):
            sides = (UP if y > box.y else 0) | (DOWN if y < box.bottom else 0)
            for x in (box.x, box.right):
                self._join(Point(x, y), sides, dashed=dashed and box.y < y < box.bottom)
        if box.kind == "loop":
            self.write(box.x + 2, box.bottom, " repeats ", box.right)

    def line(self, line: Line) -> None:
        path = list(line.cells())
        for here, there in pairwise(path[:-1]):
            side = _side(here, there)
            self._join(here, side)
            self._join(there, _opposite(side))
        before, last = path[-2], path[-1]
        if len(path) > 2 or before != path[0]:
            self._texts[before] = _HEADS[_side(before, last)]

    def write(self, x: int, y: int, text: str, end: int) -> None:
        for char in text:
            if x >= end:
                return
            self._texts[Point(x, y)] = char
            x += cells(char)

    def _join(self, at: Point, sides: int, *, dashed: bool = False) -> None:
        self._sides[at] = self._sides.get(at, 0) | sides
        if dashed:
            self._dashed.add(at)

    def _character(self, at: Point) -> str:
        text = self._texts.get(at)
        if text is not None:
            return text
        char = _CHARACTERS.get(self._sides.get(at, 0), " ")
        return _DASHED.get(char, char) if at in self._dashed else char

    def text(self) -> str:
        rows = []
        for y in range(self._height):
            row, x = "", 0
            while x < self._width:
                char = self._character(Point(x, y))
                row += char
                x += max(1, cells(char))
            rows.append(row.rstrip())
        return "\n".join(rows) + "\n"


def _side(here: Point, there: Point) -> int:
    if here.x == there.x:
        return DOWN if there.y > here.y else UP
    return RIGHT if there.x > here.x else LEFT


def _opposite(side: int) -> int:
    return {UP: DOWN, DOWN: UP, LEFT: RIGHT, RIGHT: LEFT}[side]

"""What a picture consists of: boxes and lines, placed in the cells of a grid.

A cell is one character of a terminal. SVG multiplies it, so that both show the same layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Self, TypeAlias

from podium.core.types import Address

BoxKind: TypeAlias = Literal["step", "frame", "together", "loop", "member"]
"""`frame` holds steps in order, `together` holds steps that run at the same time, `loop` repeats what is in it."""

RowKind: TypeAlias = Literal["title", "about", "state", "gate", "exit", "note"]

LineKind: TypeAlias = Literal["next", "need", "jump"]


class Point(NamedTuple):
    x: int
    y: int


class Row(NamedTuple):
    """One line of text in a box; `y` counts from the top of the box."""

    y: int
    kind: RowKind
    text: str
    path: Address
    """The step or gate that the text is about."""


class Box(NamedTuple):
    """The border is part of the box: it takes the cells from `x` to `x + width - 1`."""

    path: Address
    kind: BoxKind
    x: int
    y: int
    width: int
    height: int
    rows: tuple[Row, ...]

    @property
    def right(self) -> int:
        return self.x + self.width - 1

    @property
    def bottom(self) -> int:
        return self.y + self.height - 1

    @property
    def middle(self) -> int:
        return self.x + self.width // 2

    @property
    def title(self) -> str:
        return self.rows[0].text


class Line(NamedTuple):
    """A line along rows and columns, from the border of one box to the border of another, which gets the arrow head."""

    kind: LineKind
    source: Address
    target: Address
    label: str
    """The outcomes that lead along it; empty for the usual way."""
    points: tuple[Point, ...]

    def cells(self) -> Iterator[Point]:
        """Every cell that it passes, in order."""
        for start, end in zip(self.points, self.points[1:], strict=False):
            dx, dy = _sign(end.x - start.x), _sign(end.y - start.y)
            at = start
            while at != end:
                yield at
                at = Point(at.x + dx, at.y + dy)
        yield self.points[-1]


class Figure(NamedTuple):
    """A picture or a part of one. An enclosing box comes before the boxes in it."""

    width: int
    height: int
    boxes: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()

    def moved(self, dx: int, dy: int) -> Self:
        return self._replace(
            boxes=tuple(box._replace(x=box.x + dx, y=box.y + dy) for box in self.boxes),
            lines=tuple(line._replace(points=_moved(line.points, dx, dy)) for line in self.lines),
        )


def _moved(points: Iterable[Point], dx: int, dy: int) -> tuple[Point, ...]:
    return tuple(Point(point.x + dx, point.y + dy) for point in points)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)

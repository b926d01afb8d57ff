"""Places the steps of a graph in rows by their longest paths, and the lines of their needs between the rows.

Above each row there is a channel with one track per step of the row, so that lines to different steps never share a track.
A need that crosses a row goes round it, through a lane at the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from podium.views.pictures.figure import Box, Figure, Line, Point

GAP: Final = 2


class _Place(NamedTuple):
    row: int
    x: int


def place_graph(parts: Sequence[Figure], needs: Sequence[Sequence[int]], rules: Sequence[str]) -> Figure:
    """`needs` has, for each part, the indices of the parts before it; `rules` which of them must pass."""
    if not parts:
        return Figure(0, 0)
    ranks = _ranks(needs)
    rows = [[i for i, rank in enumerate(ranks) if rank == row] for row in range(max(ranks) + 1)]
    around = {i: _far_needs(i, needs, ranks) for i in range(len(parts))}
    lanes = {i: number for number, i in enumerate(i for i in range(len(parts)) if around[i])}
    left = GAP * len(lanes)
    tracks, tops, total = _channels(rows, needs, around, parts)
    xs = _columns(rows, parts, left)
    tops_of = {i: tops[rank] for i, rank in enumerate(ranks)}
    placed = [part.moved(xs[i], tops_of[i]) for i, part in enumerate(parts)]
    boxes = [part.boxes[0] for part in placed]
    lines = [
        _need(
            boxes[before],
            boxes[i],
            rules[i],
            tracks,
            i,
            GAP * lanes[i] if before in around[i] else None,
            ranks[before],
        )
        for i in range(len(parts))
        for before in needs[i]
    ]
    width = max(part.boxes[0].x + part.width for part in placed)
    return Figure(
        width,
        total,
        tuple(box for part in placed for box in part.boxes),
        (*(line for part in placed for line in part.lines), *lines),
    )


def _ranks(needs: Sequence[Sequence[int]]) -> list[int]:
    """The length of the longest way to each part; a need always names an earlier or later part, never a circle."""
    ranks: dict[int, int] = {}
    todo = list(range(len(needs)))
    while todo:
        at = todo[-1]
        missing = [need for need in needs[at] if need not in ranks]
        if missing and at not in ranks:
            todo += missing
            continue
        todo.pop()
        ranks.setdefault(at, 1 + max((ranks[need] for need in needs[at]), default=-1))
    return [ranks[i] for i in range(len(needs))]


def _far_needs(i: int, needs: Sequence[Sequence[int]], ranks: Sequence[int]) -> frozenset[int]:
    """The needs of a part that are not in the row above it."""
    return frozenset(need for need in needs[i] if ranks[need] < ranks[i] - 1)


def _channels(
    rows: Sequence[Sequence[int]],
    needs: Sequence[Sequence[int]],
    around: dict[int, frozenset[int]],
    parts: Sequence[Figure],
) -> tuple[dict[tuple[int, int], int], list[int], int]:
    """For each channel and target its track; the top of each row; the height of all."""
    ranks = {i: row for row, members in enumerate(rows) for i in members}
    tracks: dict[tuple[int, int], int] = {}
    tops: list[int] = []
    y = 0
    for row, members in enumerate(rows):
        if row:
            leaving = [i for i in around if any(ranks[need] == row - 1 for need in around[i])]
            ending = [i for i in members if needs[i]]
            for i in [*leaving, *ending]:
                tracks[row, i] = y + 1
                y += 1
            y += GAP
        tops.append(y)
        y += max(parts[i].height for i in members)
    return tracks, tops, y


def _columns(rows: Sequence[Sequence[int]], parts: Sequence[Figure], left: int) -> dict[int, int]:
    """The left edge of each part; every row is centred."""
    widths = [sum(parts[i].width for i in row) + GAP * (len(row) - 1) for row in rows]
    xs: dict[int, int] = {}
    for row, width in zip(rows, widths, strict=True):
        x = left + (max(widths) - width) // 2
        for i in row:
            xs[i] = x
            x += parts[i].width + GAP
    return xs


def _need(
    before: Box, box: Box, rule: str, tracks: dict[tuple[int, int], int], i: int, lane: int | None, rank: int
) -> Line:
    label = "" if rule == "all" else rule
    last = max(y for (_, target), y in tracks.items() if target == i)
    points = [Point(before.middle, before.bottom)]
    if lane is not None:
        leaving = tracks[rank + 1, i]
        points += [Point(before.middle, leaving), Point(lane, leaving), Point(lane, last)]
    else:
        points.append(Point(before.middle, last))
    points += [Point(box.middle, last), Point(box.middle, box.y)]
    unique = [point for number, point in enumerate(points) if not number or point != points[number - 1]]
    return Line("need", before.path, box.path, label, tuple(unique))

"""Finds what needs itself by way of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def circles(edges: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """One circle for each group of names that cannot be put in order, beginning with its first name."""
    told: set[str] = set()
    done: set[str] = set()
    numbers = {name: number for number, name in enumerate(edges)}
    for start in edges:
        circle = _circle_from(start, edges, done)
        if circle and not told & set(circle):
            told.update(circle)
            first = min(range(len(circle)), key=lambda at: numbers[circle[at]])
            yield (*circle[first:], *circle[:first])


def _circle_from(start: str, edges: Mapping[str, Iterable[str]], done: set[str]) -> tuple[str, ...]:
    """The first circle on a walk from `start`; what was walked to its end without one is not walked again."""
    way = {start: iter(edges[start])}
    while way:
        here = next(reversed(way))
        following = next(way[here], None)
        if following is None:
            done.add(here)
            del way[here]
        elif following in way:
            names = list(way)
            return tuple(names[names.index(following) :])
        elif following not in done:
            way[following] = iter(edges[following])
    return ()

"""Finds cycles in a graph of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def find_cycles(edges: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """One cycle for each group of names that cannot be ordered, beginning with the name that comes first."""
    reported: set[str] = set()
    done: set[str] = set()
    numbers = {name: number for number, name in enumerate(edges)}
    for start in edges:
        cycle = _cycle_from(start, edges, done)
        if cycle and not reported & set(cycle):
            reported.update(cycle)
            first = min(range(len(cycle)), key=lambda at: numbers[cycle[at]])
            yield (*cycle[first:], *cycle[:first])


def _cycle_from(start: str, edges: Mapping[str, Iterable[str]], done: set[str]) -> tuple[str, ...]:
    """The first cycle reachable from `start`; names in `done` have none and are not walked again."""
    path = {start: iter(edges[start])}
    while path:
        current = next(reversed(path))
        following = next(path[current], None)
        if following is None:
            done.add(current)
            del path[current]
        elif following in path:
            names = list(path)
            return tuple(names[names.index(following) :])
        elif following not in done:
            path[following] = iter(edges[following])
    return ()

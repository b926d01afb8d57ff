"""Globs over paths of the project: what one matches, and whether two can match the same path.

`*` and `?` stay within one name, `**` crosses `/`. `dir/**` and `dir/` mean everything below dir, not dir itself.
Everything else is literal, brackets too: `[id].tsx` is a common file name. Case counts, also for hidden files.

A glob is cut into names (Names); a name is matched as a whole, so the cost is a small polynomial of the number
of names, whatever stands in them.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

Names: TypeAlias = tuple[str, ...]

DEEP: Final = "**"

# `a**b` is `a*b` or `a*/**/*b`: each such name doubles the spellings of a glob. Beyond this many, the rest of the
# glob is taken as `**`: it then matches more than it says, never less.
MAX_SPLITS: Final = 4


def glob_matches(pattern: str, path: str) -> bool:
    return _matcher(pattern)("/".join(_names(path)))


def globs_overlap(first: str, second: str) -> bool:
    """Whether some path is matched by both. It may say yes too often for an odd glob, but never no wrongly."""
    return any(_overlap(a, b) for a in _spellings(first) for b in _spellings(second))


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> Callable[[str], bool]:
    """The test for a path that is already clean, with short cuts for the two commonest kinds of glob."""
    spellings = _spellings(pattern)
    if len(spellings) == 1 and not any(_is_wild(name) for name in spellings[0]):
        literal = "/".join(spellings[0])
        return lambda path: path == literal
    if len(spellings) == 1 and spellings[0][-2:] == (DEEP, "*"):
        folder = spellings[0][:-2]
        if folder and not any(_is_wild(name) for name in folder):
            prefix = "/".join(folder) + "/"
            return lambda path: path.startswith(prefix)
    return lambda path: any(_match(names, tuple(path.split("/"))) for names in spellings)


@lru_cache(maxsize=4096)
def _spellings(pattern: str) -> tuple[Names, ...]:
    """The glob as lists of names in which `**` stands only alone; () for a glob that matches nothing."""
    names = _names(pattern)
    if not names:
        return ()
    if pattern.endswith("/"):
        names = (*names, DEEP)
    return tuple(dict.fromkeys(_tidy(spelling) for spelling in _split(names, MAX_SPLITS)))


def _names(path: str) -> Names:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def _split(names: Names, splits: int) -> list[Names]:
    for at, name in enumerate(names):
        if DEEP in name and name.strip("*"):
            if not splits:
                return [(*names[:at], DEEP)]
            left, _, right = name.partition(DEEP)
            right = right.lstrip("*")
            narrow = _split((f"{left}*{right}", *names[at + 1 :]), splits - 1)
            wide = _split((f"*{right}", *names[at + 1 :]), splits - 1)
            return [
                *((*names[:at], *rest) for rest in narrow),
                *((*names[:at], f"{left}*", DEEP, *rest) for rest in wide),
            ]
    return [names]


def _tidy(names: Names) -> Names:
    """One `**` in place of several in a row, and a name after the last one: `a/**` does not match `a`."""
    kept: list[str] = []
    for name in names:
        single = DEEP if len(name) > 1 and not name.strip("*") else name
        if not (single == DEEP and kept and kept[-1] == DEEP):
            kept.append(single)
    return (*kept, "*") if kept[-1] == DEEP else tuple(kept)


def _match(names: Names, path: Names) -> bool:
    """Each `**` takes as little as it can; when a later name does not fit, only the last `**` takes one more."""
    at = here = 0
    retry: tuple[int, int] | None = None
    while here < len(path):
        if at < len(names) and names[at] == DEEP:
            at += 1
            retry = (at, here)
        elif at < len(names) and _name_test(names[at])(path[here]):
            at, here = at + 1, here + 1
        elif retry is not None:
            at, here = retry[0], retry[1] + 1
            retry = (at, here)
        else:
            return False
    return at == len(names)


def _is_wild(name: str) -> bool:
    return "*" in name or "?" in name


@lru_cache(maxsize=4096)
def _name_test(name: str) -> Callable[[str], object]:
    # fnmatch gives a pattern that never backtracks over an earlier star, so no name can make it slow.
    return re.compile(fnmatch.translate(name.replace("[", "[[]"))).match


@lru_cache(maxsize=65536)
def _overlap(first: Names, second: Names) -> bool:
    """Walks both lists at once over the pairs of places that can be reached together."""
    reached = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        at, other = todo.pop()
        if (at, other) == (len(first), len(second)):
            return True
        for step in _steps(first, second, at, other):
            if step not in reached:
                reached.add(step)
                todo.append(step)
    return False


def _steps(first: Names, second: Names, at: int, other: int) -> list[tuple[int, int]]:
    left = first[at] if at < len(first) else None
    right = second[other] if other < len(second) else None
    steps = []
    if left == DEEP:
        steps.append((at + 1, other))
        if right is not None:
            steps.append((at, other + 1))
    if right == DEEP:
        steps.append((at, other + 1))
        if left is not None:
            steps.append((at + 1, other))
    if left not in (None, DEEP) and right not in (None, DEEP) and names_overlap(str(left), str(right)):
        steps.append((at + 1, other + 1))
    return steps


def names_overlap(first: str, second: str) -> bool:
    """Whether some single name is matched by both; exact."""
    if not (_is_wild(first) and _is_wild(second)):
        return bool(_name_test(first)(second) if _is_wild(first) else _name_test(second)(first))
    # row[j]: whether the part of `first` read so far and second[:j] have a name in common.
    row = [True]
    for sign in second:
        row.append(row[-1] and sign == "*")
    for sign in first:
        row = _next_row(row, sign, second)
    return row[-1]


def _next_row(row: list[bool], sign: str, second: str) -> list[bool]:
    fresh = [row[0] and sign == "*"]
    for place, other in enumerate(second):
        if sign == "*" or other == "*":
            fresh.append(row[place + 1] or fresh[-1])
        else:
            fresh.append(row[place] and (sign == other or "?" in (sign, other)))
    return fresh

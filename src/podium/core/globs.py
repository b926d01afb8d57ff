"""Globs over paths of the project: whether a path matches, and whether two globs can match the same path.

`*` and `?` stay within one name, `**` crosses `/`. `dir/**` and `dir/` mean everything below dir, not dir itself.
Everything else is literal, including brackets: `[id].tsx` is a common file name. Matching is case-sensitive and
includes hidden files.

A glob is split into names (Names), each matched as a whole, so the cost is a small polynomial in the number of
names, whatever their content.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

Names: TypeAlias = tuple[str, ...]

DEEP: Final = "**"

# `a**b` means `a*b` or `a*/**/*b`, so each such name doubles the spellings of a glob. After this many, the rest of
# the glob is treated as `**`, which can match too much but never too little.
MAX_SPLITS: Final = 4


def glob_matches(pattern: str, path: str) -> bool:
    return _matcher(pattern)("/".join(_names(path)))


def protects(pattern: str, path: str) -> bool:
    """Whether a glob of protected files covers a changed file: it matches, or the file is in the place of one of its folders.

    A link `.claude -> docs` would bring files below `.claude/` that no path of the change names.
    """
    return glob_matches(pattern, path) or any(glob_matches(folder, path) for folder in _folders(pattern))


@lru_cache(maxsize=4096)
def _folders(pattern: str) -> tuple[str, ...]:
    """The folders that a glob names: `a/b/**` names `a` and `a/b`, `**/.x/**` names every `.x`."""
    names = _names(pattern)
    if pattern.endswith("/"):
        names = (*names, DEEP)
    return tuple("/".join(names[:end]) for end in range(1, len(names)) if not _is_wild(names[end - 1]))


def globs_overlap(first: str, second: str) -> bool:
    """Whether some path matches both globs. For unusual globs it may be true without need, but never false wrongly."""
    return any(_overlap(a, b) for a in _spellings(first) for b in _spellings(second))


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> Callable[[str], bool]:
    """A test for a normalized path, with shortcuts for the two most common kinds of glob."""
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
    """The glob as lists of names in which `**` is always a name of its own; () for a glob that matches nothing."""
    names = _names(pattern)
    if not names:
        return ()
    if pattern.endswith("/"):
        names = (*names, DEEP)
    return tuple(dict.fromkeys(_tidy(spelling) for spelling in _split(names, MAX_SPLITS)))


def _names(path: str) -> Names:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def _split(names: Names, splits: int) -> list[Names]:
    for index, name in enumerate(names):
        if DEEP in name and name.strip("*"):
            if not splits:
                return [(*names[:index], DEEP)]
            left, _, right = name.partition(DEEP)
            right = right.lstrip("*")
            narrow = _split((f"{left}*{right}", *names[index + 1 :]), splits - 1)
            wide = _split((f"*{right}", *names[index + 1 :]), splits - 1)
            return [
                *((*names[:index], *tail) for tail in narrow),
                *((*names[:index], f"{left}*", DEEP, *tail) for tail in wide),
            ]
    return [names]


def _tidy(names: Names) -> Names:
    """Collapse repeated `**`, and require a name after a final one, because `a/**` does not match `a`."""
    tidy: list[str] = []
    for name in names:
        single = DEEP if len(name) > 1 and not name.strip("*") else name
        if not (single == DEEP and tidy and tidy[-1] == DEEP):
            tidy.append(single)
    return (*tidy, "*") if tidy[-1] == DEEP else tuple(tidy)


def _match(names: Names, path: Names) -> bool:
    """Each `**` matches as little as possible; if a later name does not match, the last `**` takes one name more."""
    name_index = path_index = 0
    retry: tuple[int, int] | None = None
    while path_index < len(path):
        if name_index < len(names) and names[name_index] == DEEP:
            name_index += 1
            retry = (name_index, path_index)
        elif name_index < len(names) and _name_test(names[name_index])(path[path_index]):
            name_index, path_index = name_index + 1, path_index + 1
        elif retry is not None:
            name_index, path_index = retry[0], retry[1] + 1
            retry = (name_index, path_index)
        else:
            return False
    return name_index == len(names)


def _is_wild(name: str) -> bool:
    return "*" in name or "?" in name


@lru_cache(maxsize=4096)
def _name_test(name: str) -> Callable[[str], object]:
    # The pattern from fnmatch never backtracks past an earlier star, so no name can make it slow.
    return re.compile(fnmatch.translate(name.replace("[", "[[]"))).match


@lru_cache(maxsize=65536)
def _overlap(first: Names, second: Names) -> bool:
    """Search all pairs of positions that both lists can reach together."""
    reached = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        position, other = todo.pop()
        if (position, other) == (len(first), len(second)):
            return True
        for step in _steps(first, second, position, other):
            if step not in reached:
                reached.add(step)
                todo.append(step)
    return False


def _steps(first: Names, second: Names, position: int, other: int) -> list[tuple[int, int]]:
    left = first[position] if position < len(first) else None
    right = second[other] if other < len(second) else None
    steps = []
    if left == DEEP:
        steps.append((position + 1, other))
        if right is not None:
            steps.append((position, other + 1))
    if right == DEEP:
        steps.append((position, other + 1))
        if left is not None:
            steps.append((position + 1, other))
    if left not in (None, DEEP) and right not in (None, DEEP) and names_overlap(str(left), str(right)):
        steps.append((position + 1, other + 1))
    return steps


def names_overlap(first: str, second: str) -> bool:
    """Whether some single name matches both patterns; exact."""
    if not (_is_wild(first) and _is_wild(second)):
        return bool(_name_test(first)(second) if _is_wild(first) else _name_test(second)(first))
    # row[j] is whether some name matches both the part of `first` read so far and second[:j].
    row = [True]
    for char in second:
        row.append(row[-1] and char == "*")
    for char in first:
        row = _next_row(row, char, second)
    return row[-1]


def _next_row(row: list[bool], char: str, second: str) -> list[bool]:
    next_row = [row[0] and char == "*"]
    for position, other in enumerate(second):
        if char == "*" or other == "*":
            next_row.append(row[position + 1] or next_row[-1])
        else:
            next_row.append(row[position] and (char == other or "?" in (char, other)))
    return next_row

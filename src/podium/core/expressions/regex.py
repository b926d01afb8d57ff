"""Searches with regular expressions in bounded time: the cost is estimated before the search, without a clock.

The number of steps is estimated from the shape of the pattern: every choice multiplies the ways to match, and a
repeat adds one way more than the longest run of its characters. The first estimate is for the worst text of that
length; if that is too much, the second is for the runs in this text. The estimate is an upper bound in units of about
1 ns; tests/core/expressions/test_pattern.py and tools/fuzz.py compare it with measured time.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from itertools import takewhile
from typing import Final, Protocol, assert_never

from podium.core.expressions.regex_shape import (
    UNBOUNDED,
    Anchor,
    Atom,
    Choice,
    Part,
    Parts,
    Repeat,
    alphabets,
    head,
    shape_of,
)
from podium.core.expressions.values import MAX_TEXT, Meter, TooBig, WrongType
from podium.fast_dataclass import dataclass

MAX_PATTERN: Final = 500
MAX_GROUPS: Final = 30
MAX_STEPS: Final = 30_000_000

# The cost of each part in steps, measured on CPython 3.11 and rounded up.
PER_PLACE: Final = 25
PER_READ_ASCII: Final = 8
PER_READ: Final = 220
PER_LETTER: Final = 1
PER_CLASS: Final = 3
PER_ANCHOR: Final = 5
PER_BRANCH: Final = 15
PER_ROUND: Final = 20
PER_GROUP_ROUND: Final = 110

STEPS_PER_WORK: Final = 10


@dataclass(frozen=True, slots=True)
class Checked:
    compiled: re.Pattern[str]
    parts: Parts
    flags: int
    scans: int
    """How many passes over a text are needed to count its runs."""


def search(text: str, pattern: str, meter: Meter) -> bool:
    """Whether the pattern matches anywhere in the text."""
    checked = check_pattern(pattern)
    steps = _steps(checked, Worst(len(text)))
    if steps > MAX_STEPS and (reading := _reading(checked, text)) <= MAX_STEPS:
        meter.spend(reading // STEPS_PER_WORK)
        steps = _steps(checked, Actual(text, checked.flags))
    if steps > MAX_STEPS:
        raise TooBig(
            f'pattern "{pattern}" may need too many steps on this text of {len(text)} characters; '
            f"texts of up to {_permitted(checked)} characters are possible"
        )
    meter.spend(steps // STEPS_PER_WORK)
    return checked.compiled.search(text) is not None


def _reading(checked: Checked, text: str) -> int:
    """The steps needed to count the runs in the text."""
    return len(text) * checked.scans * (PER_READ_ASCII if text.isascii() else PER_READ)


@lru_cache(maxsize=512)
def check_pattern(pattern: str) -> Checked:
    if len(pattern) > MAX_PATTERN:
        raise TooBig(f"a pattern of {len(pattern)} characters; the maximum is {MAX_PATTERN}")
    if pattern.count("(") > MAX_GROUPS:
        raise TooBig(f"a pattern with more than {MAX_GROUPS} groups")
    _refuse_unclear_sets(pattern)
    try:
        parts, flags = shape_of(pattern)
        classes = {*alphabets(parts), *(atom.source for atom in head(parts) if atom.literal is None)}
        return Checked(re.compile(pattern), parts, flags, len(classes))
    except (re.error, OverflowError) as error:
        raise WrongType(f'"{pattern}" is not a valid pattern: {error}') from error


def _refuse_unclear_sets(pattern: str) -> None:
    """Refuse sets for which `re` warns that their meaning may change; a workflow cannot show a warning."""
    unescaped = re.sub(r"\\.", "xx", pattern, flags=re.DOTALL)
    if re.search(r"\[\[|\[\^?\]?[^\]]*(?:--|&&|~~|\|\|)", unescaped):
        raise WrongType(f'"{pattern}" is not a valid pattern: inside [...] put a backslash before [ - & ~ |')


class Text(Protocol):
    """What the estimate knows of the text: all of it, or only its length."""

    @property
    def length(self) -> int:
        """The number of characters."""
        ...

    def longest(self, alphabet: str) -> int:
        """The length of the longest run of characters of this class; 1 for the empty class."""
        ...

    def has(self, char: str) -> bool:
        """Whether the text may contain this character."""
        ...

    def places(self, head: tuple[Atom, ...]) -> int:
        """At how many positions a match with these first characters can start."""
        ...


@dataclass(frozen=True, slots=True)
class Worst:
    """The most expensive text of this length."""

    length: int

    def longest(self, alphabet: str) -> int:
        return self.length if alphabet else 1

    def has(self, char: str) -> bool:
        return True

    def places(self, head: tuple[Atom, ...]) -> int:
        return self.length + 1


@dataclass(frozen=True, slots=True)
class Actual:
    text: str
    flags: int
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return len(self.text)

    def longest(self, alphabet: str) -> int:
        return self._counted(alphabet)[0] if alphabet else 1

    def has(self, char: str) -> bool:
        return char in self.text

    def places(self, head: tuple[Atom, ...]) -> int:
        word = "".join(atom.literal or "" for atom in takewhile(lambda atom: atom.literal, head))
        # Occurrences of a word may overlap, at most as many at once as it has characters.
        bounds = [len(word) * self.text.count(word)] if word else []
        bounds += [self._counted(atom.source)[1] for atom in head if atom.literal is None]
        return min(bounds, default=self.length + 1)

    def _counted(self, alphabet: str) -> tuple[int, int]:
        """The length of the longest run of these characters, and their total number."""
        if alphabet not in self.counts:
            count = _count_ascii if self.text.isascii() else _count
            self.counts[alphabet] = count(self.text, alphabet, self.flags)
        return self.counts[alphabet]


def _count(text: str, alphabet: str, flags: int) -> tuple[int, int]:
    runs = [len(run) for run in _class(f"{alphabet}+", flags).findall(text)]
    return max(runs, default=0), sum(runs)


def _count_ascii(text: str, alphabet: str, flags: int) -> tuple[int, int]:
    """The same, thirty times as fast: map characters of the class to x, and find the longest run by bisection."""
    marks = text.translate(_marks(alphabet, flags))
    low, high = 0, 1
    while "x" * high in marks:
        low, high = high, high * 2
    # An upper bound is good enough for a long run; finding its exact length is slow.
    while high - low > 1 and high <= 1024:
        middle = (low + high) // 2
        low, high = (middle, high) if "x" * middle in marks else (low, middle)
    return min(high - 1, len(text)), marks.count("x")


@lru_cache(maxsize=512)
def _marks(alphabet: str, flags: int) -> str:
    matches = _class(alphabet, flags).match
    return "".join("x" if matches(chr(code)) else " " for code in range(128))


@lru_cache(maxsize=512)
def _class(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags & (re.IGNORECASE | re.ASCII))


def _permitted(checked: Checked) -> int:
    low, high = 0, MAX_TEXT
    while low < high:
        middle = (low + high + 1) // 2
        if _steps(checked, Worst(middle)) <= MAX_STEPS:
            low = middle
        else:
            high = middle - 1
    return low


def _steps(checked: Checked, text: Text) -> int:
    parts = checked.parts
    if all(isinstance(part, Atom) and part.literal is not None for part in parts):
        return 2 * text.length
    if isinstance(parts[0], Anchor) and parts[0].at_start:
        return 2 * text.length + _cost(parts, checked.flags, text)[1]
    starts = text.places(tuple(head(parts)))
    return PER_PLACE * text.length + starts * _cost(parts, checked.flags, text)[1]


def _cost(parts: Parts, flags: int, text: Text) -> tuple[int, int]:
    """In how many ways the parts can match, and how many steps it takes to try them all."""
    ways = steps = before = 1
    last: Part | None = None
    for part in parts:
        part_ways, part_steps = _part_cost(part, flags, text)
        steps = min(UNBOUNDED, steps + ways * part_steps)
        after = before if _ends(last, part, flags) else ways
        before, ways = ways, min(UNBOUNDED, after * part_ways)
        last = part
    return ways, steps


def _ends(repeat: Part | None, part: Part, flags: int) -> bool:
    """Whether the repeat before this character cannot match it, so that the repeat can end in one place only."""
    return (
        isinstance(part, Atom)
        and part.literal is not None
        and isinstance(repeat, Repeat)
        and repeat.fixed
        and not _class(repeat.alphabet, flags).match(part.literal)
    )


def _part_cost(part: Part, flags: int, text: Text) -> tuple[int, int]:
    match part:
        case Atom(literal=char):
            return (1, PER_CLASS) if char is None else (int(text.has(char)), PER_LETTER)
        case Anchor():
            return 1, PER_ANCHOR
        case Choice(branches, disjoint):
            costs = [_cost(branch, flags, text) for branch in branches]
            ways = max(ways for ways, _ in costs) if disjoint else sum(ways for ways, _ in costs)
            return ways, sum(steps + PER_BRANCH for _, steps in costs)
        case Repeat():
            return _repeat_cost(part, flags, text)
        case _:
            assert_never(part)


def _repeat_cost(part: Repeat, flags: int, text: Text) -> tuple[int, int]:
    longest = text.longest(part.alphabet)
    if part.simple and longest < part.least:
        return 0, PER_ROUND * (longest + 1)
    times = min(part.most, max(part.least, longest))
    body_ways, body_steps = _cost(part.body, flags, text)
    each = PER_ROUND if part.simple else PER_GROUP_ROUND + body_steps
    if body_ways <= 1:
        return max(1, times - part.least + 1), (times + 1) * each
    ways, steps, paths = 0, each, 1
    # The sum exceeds every bound within 62 rounds, so further rounds do not matter.
    for count in range(min(times, 62)):
        ways += paths if count >= part.least else 0
        steps += paths * each
        paths *= body_ways
    return min(UNBOUNDED, ways + paths), min(UNBOUNDED, steps)

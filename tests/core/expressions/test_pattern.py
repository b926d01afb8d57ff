"""Patterns match as in `re`, and none takes long: the estimate is an upper bound, compared with measured time here."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions import regex_shape
from podium.core.expressions.regex import (
    MAX_PATTERN,
    MAX_STEPS,
    Actual,
    Worst,
    _count,
    _count_ascii,
    _steps,
    check_pattern,
    search,
)
from podium.core.expressions.regex_shape import Anchor, Atom, Choice, Parts, Repeat
from podium.core.expressions.values import ExprError, Meter, TooBig, WrongType
from tests.timing import work_within

LOG = "tests/test_a.py ........F 12 passed in 3.2s\n" * 2000

# Twenty times the promised bound.
PATIENCE_S = 2.0


def found(text: str, pattern: str) -> bool:
    return search(text, pattern, Meter())


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (LOG, r"\d+ passed"),
        (LOG, r"(\d+) passed, (\d+) failed"),
        (LOG, r"FAILED"),
        (LOG, r"^tests/"),
        (LOG, r"\Atests"),
        (LOG, r"(?m)^tests/\w+\.py .*$"),
        (LOG, r"Tests:.*passed"),
        (LOG, r"(?i)ERROR|fail"),
        (LOG, r"https?://[^\s]+"),
        (LOG, r"\d+\.\d+s$"),
        (LOG[:500], r"(?s)tests.*x"),
        ("", ""),
        ("", "a*"),
        ("", r"^$"),
        ("abc", "(?:foo|bar|abc)"),
        ("foobarx", "(?:foo|bar)+x"),
        ("ab" * 50, "(?:ab)+$"),
        ("aXb", "(?i)AxB"),
        ("tab\there", r"[^\w\s]"),
        ("v1.2.3-rc", r"v?\d+\.\d+\.\d+(-[a-z]+)?"),
        ("a.b", r"[a-c]\.[^d]"),
        ("aaa", "a{2,3}?"),
        ("a-b", r"[\w-]+"),
        ("x]y", r"[]x]y"),
        ("(?x) y", r"(?x) \( \?"),
        ("dé", r"(?a)\w\W"),
        ("aab", "(a|b|ab){2,3}"),
        ("a\nb", "(?:^b)"),
        ("a b", r"\D\S*\W"),
        ("no", r"\d{3,}x"),
        ("xyz", "(?:)*z"),
        ("abx", r"(?:\ba)*b"),
    ],
)
def test_a_pattern_matches_as_in_re(text: str, pattern: str) -> None:
    assert found(text, pattern) is bool(re.search(pattern, text))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "a back-reference is not allowed"),
        (r"(?P<x>a)(?P=x)", "a back-reference is not allowed"),
        (r"(a)?(?(1)b|c)", "a conditional group is not allowed"),
        (r"(?=a)", "lookahead or lookbehind is not allowed"),
        (r"(?<!a)b", "lookahead or lookbehind is not allowed"),
        (r"(?>a+)", "an atomic group is not allowed"),
        (r"a++", "a possessive repeat is not allowed"),
        (r"(a+)+$", "an unbounded repeat inside another is not allowed"),
        (r"(?:\w+\s)*x", "an unbounded repeat inside another is not allowed"),
        (r"(?:(?:a|b+)c)*", "an unbounded repeat inside another is not allowed"),
        (r"(?i:a)b", "flags for a part of a pattern are not allowed"),
        (r"(?-i:a)", "flags for a part of a pattern are not allowed"),
        (r"(a", '"(a" is not a valid pattern'),
        (r"[z-a]", "is not a valid pattern"),
        (r"a{99999999999}", "is not a valid pattern"),
        (r"[[a]", "inside [...] put a backslash before [ - & ~ |"),
        (r"[a--b]", "inside [...] put a backslash before [ - & ~ |"),
        (r"[^]a||b]", "inside [...] put a backslash before [ - & ~ |"),
    ],
)
def test_a_pattern_without_a_bound_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(WrongType) as raised:
        check_pattern(pattern)

    assert message in str(raised.value)


@pytest.mark.parametrize("pattern", [r"\[a--b", r"a||b", r"a&&b", r"[a\-\-b]", r"\[\[x"])
def test_characters_that_are_ambiguous_in_sets_are_allowed_elsewhere(pattern: str) -> None:
    assert check_pattern(pattern).compiled.pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    ["a" * (MAX_PATTERN + 1), "(" * 31 + ")" * 31, "(?i)[\x00-\U0010ffff]", "(?i)" + "[a-\uffff]" * 50],
)
def test_a_pattern_that_is_itself_too_big_is_refused(pattern: str) -> None:
    with pytest.raises(TooBig):
        check_pattern(pattern)


CATASTROPHES = [
    (r"(a|a)*$", "a" * 40 + "b"),
    (r"(a|aa)+$", "a" * 60 + "b"),
    (r"(a|ab|b)*c", "ab" * 40),
    (r"(?:a?){30}a{30}", "a" * 30),
    (r"(.*a){20}", "a" * 40),
    (r"(.*)(.*)(.*)(.*)(.*)x", "a" * 1000),
    (r"a*a*a*a*a*a*b", "a" * 500),
    (r"^(([a-z])+.){3}[A-Z]([a-z]){10}$", "a" * 1000),
    (r"(x|y|z|xy)*w", "xy" * 100),
    (r"\s*\s*\s*$", " " * 5000 + "x"),
    (r".*.*=.*", "x" * 3000),
    (r"(?:\d{1,9}){1,9}x", "1" * 200),
    (r"(?:a{0,20}b?){20}c", "ab" * 100),
    (r"\w*\w*\d", "a" * 20000),
    (r".*b", "a" * 100_000),
    (r"(ab?)*c", "ab" * 1000),
    (r"(?i)(?:a|A)*c", "aA" * 1000),
]


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHES)
def test_a_catastrophic_pattern_is_fast_or_refused(pattern: str, text: str) -> None:
    with work_within(PATIENCE_S), contextlib.suppress(ExprError):
        found(text, pattern)


def test_the_message_gives_a_length_that_works() -> None:
    with pytest.raises(TooBig) as raised:
        found("a" * 100_000, "a*a*b")
    permitted = int(re.findall(r"up to (\d+) characters are possible", str(raised.value))[0])

    assert 10 < permitted < 100_000
    assert not found("a" * permitted, "a*a*b")


def test_a_long_text_is_not_counted_if_that_is_too_expensive() -> None:
    with pytest.raises(TooBig):
        found("ab " * 300_000, r"\w+ \w+ \d")


def test_the_search_is_metered() -> None:
    meter = Meter()
    before = meter.work

    search("a" * 1000, "a*b", meter)

    assert meter.work < before
    with pytest.raises(TooBig, match="too much work"):
        search("a" * 1000, "a*b", Meter(10))


def test_the_estimate_uses_the_runs_in_the_text() -> None:
    checked = check_pattern(r"\w+: \w+ \d+")
    text = "ab cd " * 5000

    assert _steps(checked, Worst(len(text))) > MAX_STEPS
    assert _steps(checked, Actual(text, checked.flags)) < MAX_STEPS


@given(st.text(alphabet="ab 1\n", max_size=60), st.sampled_from(["[a]", r"[\w]", r"[^\n]", "[A]", r"[\s\S]"]))
def test_counting_runs_in_ascii_agrees_with_the_pattern(text: str, alphabet: str) -> None:
    assert _count_ascii(text, alphabet, re.IGNORECASE) == _count(text, alphabet, re.IGNORECASE)


def test_a_long_run_is_rounded_up_and_never_down() -> None:
    text = "a" * 3000 + " " + "a" * 2000

    longest, count = _count_ascii(text, "[a]", 0)

    assert 3000 <= longest <= len(text)
    assert count == 5000


def test_runs_are_counted_in_texts_with_other_letters() -> None:
    assert found("größe 12 " * 500, r"\w+ \d+ \w+")
    with pytest.raises(TooBig):
        found("größe 12 " * 50_000, r"\w+ \d+ x")


def test_only_an_anchored_pattern_is_cheap() -> None:
    """With (?m), ^ matches at the start of every line."""
    once, often = (_steps(check_pattern(pattern), Worst(1000)) for pattern in ("^a*b", "(?m)^a*b"))

    assert often > 100 * once


def test_a_repeated_group_costs_more_than_a_repeated_character() -> None:
    """Both repeat one letter, but `re` takes five times as long for the group."""
    bare, group = (_steps(check_pattern(pattern), Worst(1000)) for pattern in ("^a*b", "^(a)*b"))

    assert group > 4 * bare


def test_the_private_parser_is_imported_in_one_place_only() -> None:
    folder = Path(regex_shape.__file__).parents[2]
    users = [path.name for path in folder.rglob("*.py") if "import _parser" in path.read_text("utf-8")]

    assert users == ["regex_shape.py"]


ATOMS = ["a", "b", "[ab]", "[^b]", ".", r"\w", r"\d", "ab", "(a)", "(?:ab)", r"\b", "$", "^", " "]
REPEATS = ["*", "+", "?", "{0,3}", "{2,5}", "*?", "+?", "{1,50}", "{3}"]


def random_pattern(rng: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(1, 4 if depth == 0 else 2)):
        kind = rng.random()
        if kind < 0.2 and depth < 3:
            part = f"(?:{random_pattern(rng, depth + 1)})"
        elif kind < 0.35 and depth < 3:
            part = f"({random_pattern(rng, depth + 1)}|{random_pattern(rng, depth + 1)})"
        else:
            part = rng.choice(ATOMS)
        parts.append(
            part + (rng.choice(REPEATS) if rng.random() < 0.4 and part not in (r"\b", "$", "^") else "")
        )
    return rng.choice(["", "", "^", "(?i)"]) * (depth == 0) + "".join(parts) + rng.choice(["", "x", "$"])


@given(st.integers(), st.sampled_from([10, 100, 1000, 10_000]))
def test_no_random_pattern_takes_long(seed: int, size: int) -> None:
    rng = random.Random(seed)
    pattern = random_pattern(rng)
    text = rng.choice(["a" * size, "ab" * (size // 2), " " * size, "".join(rng.choices("ab 1", k=size))])
    result = None

    with work_within(PATIENCE_S), contextlib.suppress(ExprError):
        result = found(text, pattern)

    if result is not None:
        assert result is bool(re.search(pattern, text))


@given(st.integers(), st.text(alphabet="ab 1", max_size=9))
def test_the_estimate_is_never_below_what_plain_backtracking_tries(seed: int, text: str) -> None:
    """Compares with a matcher that tries every way, so that the arithmetic is tested without a clock."""
    try:
        checked = check_pattern(random_pattern(random.Random(seed)))
    except ExprError:
        return
    estimate = _steps(checked, Actual(text, checked.flags))
    if estimate < 1_000_000:
        assert Backtracking(text, checked.flags).steps_of(checked.parts) <= estimate + 50
        assert estimate <= _steps(checked, Worst(len(text)))


class Backtracking:
    """Tries every way to match a pattern at every position of a text, and counts the steps."""

    def __init__(self, text: str, flags: int) -> None:
        self.text = text
        self.flags = flags & (re.IGNORECASE | re.ASCII)
        self.steps = 0

    def steps_of(self, parts: Parts) -> int:
        anchored = bool(parts) and isinstance(parts[0], Anchor) and parts[0].at_start
        for start in range(1 if anchored else len(self.text) + 1):
            self.go(parts, start, lambda _: None)
        return self.steps

    def go(self, parts: Parts, at: int, then: Callable[[int], None]) -> None:
        """Call `then` with every position at which the parts can end."""
        if not parts:
            then(at)
            return
        self.steps += 1
        part, rest = parts[0], parts[1:]
        match part:
            case Anchor():
                self.go(rest, at, then)
            case Atom(source):
                if at < len(self.text) and re.match(source, self.text[at], self.flags):
                    self.go(rest, at + 1, then)
            case Choice(branches):
                for branch in branches:
                    self.go(branch, at, lambda end: self.go(rest, end, then))
            case Repeat():
                self.repeat(part, 0, at, lambda end: self.go(rest, end, then))
            case _:
                assert_never(part)

    def repeat(self, part: Repeat, done: int, at: int, then: Callable[[int], None]) -> None:
        if done < part.most:
            again = lambda end: self.repeat(part, done + 1, end, then) if end > at else None  # noqa: E731 (one step)
            self.go(part.body, at, again)
        if done >= part.least:
            then(at)


@given(st.text(max_size=30))
def test_any_text_is_a_valid_pattern_or_refused(pattern: str) -> None:
    with contextlib.suppress(ExprError):
        found("some text", pattern)

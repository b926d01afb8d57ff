"""Globs match as documented, and two globs that can match the same path always overlap."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.globs import MAX_SPLITS, glob_matches, globs_overlap, names_overlap, protects
from tests.timing import work_within

NAMES = st.text(alphabet="ab.", min_size=1, max_size=3).filter(lambda name: name != ".")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
GLOB_NAMES = st.one_of(NAMES, st.just("**"), st.just("*"), st.text(alphabet="ab*?", min_size=1, max_size=4))
GLOBS = st.lists(GLOB_NAMES, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src/b.py", False),
        ("./src//a.py", "src/a.py", True),
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("src/*", "src/a.py", True),
        ("src/*", "src/x/a.py", False),
        ("a/*/b", "a/x/b", True),
        ("a/*/b", "a/x/y/b", False),
        ("src/**", "src/a.py", True),
        ("src/**", "src/x/y/a.py", True),
        ("src/**", "src", False),
        ("a/b/**", "a/b/c", True),
        ("a/b/**", "a/c", False),
        ("src/**", "srcx/a", False),
        ("src/", "src/x/a.py", True),
        ("src/", "src", False),
        ("**", "a", True),
        ("**", "a/b", True),
        ("***", "a/b", True),
        ("**/x", "x", True),
        ("**/x", "a/b/x", True),
        ("**/x", "a/xx", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/**/b/**", "a/b/c", True),
        ("**/a/**/b", "x/a/a/c/b", True),
        ("**/a/*/b", "a/a/x/b", True),
        ("src**", "srcx", True),
        ("src**", "src/x/y", True),
        ("src**", "xsrc", False),
        ("**.py", "x/y.py", True),
        ("a**b/c", "a/x/b/c", True),
        ("a**b/c", "axb/c", True),
        ("a**b/c", "a/x/c", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[id].tsx", "[id].tsx", True),
        ("[id].tsx", "i.tsx", False),
        ("*[id]*", "x[id]y", True),
        (".*", ".hidden", True),
        ("*", ".hidden", True),
        ("A", "a", False),
        ("", "a", False),
        ("", "", False),
        ("a", "", False),
        ("a\nb*", "a\nbc", True),
    ],
)
def test_a_glob_matches_as_documented(pattern: str, path: str, expected: bool) -> None:
    assert glob_matches(pattern, path) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("src/**", "src/x/y", True),
        ("src/**", "docs/**", False),
        ("src/**", "src", False),
        ("a/b/**", "a/b/c", True),
        ("a/b/**", "a/c", False),
        ("src/**", "srcx/**", False),
        ("a/**", "a/b/**", True),
        ("**/x", "a/**", True),
        ("**/x", "a/y", False),
        ("src/*.py", "src/test_*", True),
        ("src/*.py", "src/*.md", False),
        ("*a", "b*", True),
        ("a*b", "a?b", True),
        ("a?", "?b", True),
        ("a?", "a", False),
        ("*/x", "y/*", True),
        ("*/x", "x", False),
        ("a**", "a/b", True),
        ("", "a", False),
    ],
)
def test_two_globs_overlap_if_a_path_matches_both(first: str, second: str, expected: bool) -> None:
    assert globs_overlap(first, second) is expected
    assert globs_overlap(second, first) is expected


@given(GLOBS, PATHS)
def test_a_glob_matches_like_the_reference_implementation(pattern: str, path: str) -> None:
    assert glob_matches(pattern, path) is bool(re.fullmatch(by_definition(pattern), path))


@given(GLOBS, GLOBS, PATHS)
def test_globs_that_match_the_same_path_overlap(first: str, second: str, path: str) -> None:
    """A false negative would let two steps change the same file in parallel."""
    if glob_matches(first, path) and glob_matches(second, path):
        assert globs_overlap(first, second)


SHORT = st.text(alphabet="ab*?", min_size=1, max_size=3).map(lambda name: re.sub(r"\*+", "*", name))
SHORT_NAMES = ["".join(letters) for size in range(1, 7) for letters in itertools.product("ab", repeat=size)]


@given(SHORT, SHORT)
def test_two_name_patterns_overlap_exactly_if_a_name_matches_both(first: str, second: str) -> None:
    """If two patterns of three characters match a common name, they match one of at most six letters."""
    common = any(glob_matches(first, name) and glob_matches(second, name) for name in SHORT_NAMES)

    assert names_overlap(first, second) is common


@given(GLOBS)
def test_a_glob_overlaps_itself(pattern: str) -> None:
    assert globs_overlap(pattern, pattern)


def test_a_glob_with_many_stars_inside_names_matches_too_much_but_never_too_little() -> None:
    pattern = "/".join(["a**b"] * (MAX_SPLITS + 3))

    assert glob_matches(pattern, "/".join(["axb"] * (MAX_SPLITS + 3)))
    assert glob_matches(pattern, "/".join(["ab"] * (MAX_SPLITS + 3)))
    assert globs_overlap(pattern, "/".join(["a*b"] * (MAX_SPLITS + 3)))


def test_no_glob_is_slow() -> None:
    """Globs may come from an agent's plan; each of these would take a naive matcher minutes."""
    with work_within(2):
        for pattern, path in [
            ("*a" * 50 + "b", "a" * 200),
            ("**/a/" * 30 + "b", "a/" * 200 + "c"),
            ("a**" * 40, "a" * 200),
            ("?*" * 100, "a" * 99),
        ]:
            glob_matches(pattern, path)
            globs_overlap(pattern, pattern + "b")
            globs_overlap("*a" * 40, "*b" * 40)


def by_definition(pattern: str) -> str:
    """Translate a glob to a regular expression, character by character; slow for some, so only for short globs."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    parts = [_by_definition(name, last=place == len(names) - 1) for place, name in enumerate(names)]
    return "".join(parts)


def _by_definition(name: str, *, last: bool) -> str:
    if len(name) > 1 and not name.strip("*"):
        return "[^/]+(?:/[^/]+)*" if last else "(?:[^/]+/)*"
    signs = {"**": "(?:[^/]*|[^/]*/(?:[^/]+/)*[^/]*)", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*+|.", name)
    inner = "".join(
        signs.get("**" if token.startswith("**") else token, re.escape(token)) for token in tokens
    )
    return inner if last else f"{inner}/"


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/.claude/**", ".claude/x", True),
        ("**/.claude/**", ".claude", True),
        ("**/.claude/**", "deep/.claude", True),
        (".github/workflows/**", ".github", True),
        (".github/workflows/", ".github/workflows", True),
        ("src/*/x", "src/y", False),
        ("**/*.py", "docs", False),
        ("a.txt", "b.txt", False),
    ],
)
def test_a_glob_protects_the_places_of_its_folders(pattern: str, path: str, expected: bool) -> None:
    assert protects(pattern, path) is expected

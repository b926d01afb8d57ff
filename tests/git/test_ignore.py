"""Our matching of .gitignore rules agrees with git's."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.git.trees.ignore import is_ignored, parse_rules
from tests.git.kit import git, put
from tests.timing import work_within


def ignored(rules: str, path: str, *, is_folder: bool = False, inner: tuple[str, str] | None = None) -> bool:
    """Check a path like the walk does, which never enters an ignored folder."""
    known = {"": parse_rules(rules.encode())}
    if inner:
        known[inner[0]] = parse_rules(inner[1].encode())
    names = path.split("/")
    for at in range(1, len(names) + 1):
        folder = at < len(names) or is_folder
        if is_ignored("/".join(names[: at - 1]), names[at - 1], is_folder=folder, rules=known):
            return True
    return False


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("build/", "build/x", True),
        ("build/", "build", False),
        ("build/", "a/build/x", True),
        ("/build", "a/build", False),
        ("a/b", "c/a/b", False),
        ("*.log\n!keep.log", "keep.log", False),
        ("*.log\n!keep.log", "a/other.log", True),
        ("logs\n!logs/keep", "logs/keep", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**/x", "x", True),
        ("**/x", "a/b/x", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("# c\n\\#d", "#d", True),
        ("# c", "# c", False),
        ("\\!x", "!x", True),
        ("x  ", "x", True),
        ("x\\ ", "x ", True),
        ("x\\\\ ", "x\\", True),
        ("x\r", "x", True),
        ("\ufeffx", "x", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[]x]y", "]y", True),
        ("[\\]x]y", "xy", True),
        ("[[:digit:]]", "7", True),
        ("[[:nonsense:]]", "7", False),
        ("[z-a]", "b", False),
        ("[!z-a]", "b", True),
        ("[abc", "a", False),
        ("a\\", "a", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXbY", False),
        ("a?c", "abc", True),
        ("", "a", False),
        ("/", "a", False),
        ("!", "a", False),
    ],
)
def test_rules_match_as_documented_in_gitignore(rules: str, path: str, expected: bool) -> None:
    assert ignored(rules, path) is expected
    if "[!z-a]" not in rules:
        assert by_git(rules, path) is expected


def test_rules_of_a_deeper_folder_take_precedence() -> None:
    assert ignored("*.txt", "a/b.txt", inner=("a", "!b.txt")) is False
    assert ignored("", "a/c.txt", inner=("a", "/c.txt")) is True


def by_git(rules: str, path: str) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        git(folder, "init", "-q")
        put(folder, {".gitignore": rules})
        done = subprocess.run(
            ("git", "check-ignore", "--no-index", "-q", "-z", "--stdin"),
            cwd=folder, input=path.encode(), capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode == 0


PIECES = st.sampled_from(["a", "b", "*", "?", "**", "[ab]", "[!a]", "ab", "a*", "*b", "\\a", ".", "a b"])
PATTERNS = st.lists(st.lists(PIECES, min_size=1, max_size=3).map("".join), min_size=1, max_size=3).map(
    "/".join
)
LINES = st.builds(
    lambda bang, slash, body, end: bang + slash + body + end,
    st.sampled_from(["", "", "!"]), st.sampled_from(["", "", "/"]), PATTERNS, st.sampled_from(["", "", "/"]),
)  # fmt: skip
PATHS = st.lists(st.text("ab .", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@settings(max_examples=60)
@given(st.lists(LINES, min_size=1, max_size=4), PATHS.filter(lambda p: not {".", ".."} & set(p.split("/"))))
def test_random_rules_agree_with_git(lines: list[str], path: str) -> None:
    rules = "\n".join(lines)

    assert ignored(rules, path) is by_git(rules, path)


def test_no_pattern_is_slow() -> None:
    rules = parse_rules(("*a" * 60 + "\n").encode() + b"**/" * 60 + b"z\n")

    with work_within(2):
        for _ in range(20):
            is_ignored("a/" * 60 + "b", "a" * 250, is_folder=False, rules={"": rules})

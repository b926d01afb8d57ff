"""Our matching of .gitignore rules agrees with git's."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.git.trees.ignore import is_ignored, parse_rules
from tests.git.kit import git, put
from tests.timing import work_of, work_within


def ignored(
    rules: str | bytes, path: str, *, is_folder: bool = False, inner: tuple[str, str] | None = None
) -> bool:
    """Check a path like the walk does, which never enters an ignored folder."""
    known = {"": parse_rules(rules if isinstance(rules, bytes) else rules.encode())}
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
        ("[b-a]", "b", True),
        ("[a/b]", "b", True),
        ("x/[a/b]", "x/a", True),
        ("[[:]", "[", True),
        ("[[:x]", "x", True),
        ("a\\/b", "a/b", True),
        ("a/***/b", "a/b", True),
        ("**\\/b", "b", False),
        ("**\\/b", "x/y/b", True),
        ("?", "é", False),
        ("??", "é", True),
        ("[é]", "é", False),
        ("caf[!x]", "café", False),
        ("caf[!x][!x]", "café", True),
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


SIGNS = [b"a", b"b", b" ", b".", b"-", b"]", b"\\", b"\xc3\xa9", b"\xff", b"\x80", b"*"]
PIECES = st.sampled_from(
    [*SIGNS, b"?", b"**", b"***", b"[ab]", b"[!a]", b"[^\xff]", b"[\xc3\xa9]", b"[a-\xc3]", b"[\x80-\xff]", b"[b-a]", b"[]a]", b"[a-]",
     b"[!]]", b"[a/b]", b"[\\]]", b"[[:alpha:]]", b"[[:punct:]]", b"[[:space:]]", b"[[:none:]]", b"[[:]", b"[a", b"\\a", b"\\*", b"\\/", b"#", b"!"]
)  # fmt: skip
RAW = st.lists(
    st.sampled_from([bytes([byte]) for byte in b"aab*?[[]]!^-\\:/ \xc3\xff."]), min_size=1, max_size=8
)
PATTERNS = st.one_of(
    st.lists(st.lists(PIECES, min_size=1, max_size=2).map(b"".join), min_size=1, max_size=2).map(b"/".join),
    RAW.map(b"".join),
)
LINES = st.builds(
    lambda bang, slash, body, end: bang + slash + body + end,
    st.sampled_from([b"", b"", b"!"]), st.sampled_from([b"", b"", b"/"]), PATTERNS,
    st.sampled_from([b"", b"", b"/", b" "]),
)  # fmt: skip
# Git 2.39 takes foo**/bar as foo followed by **/bar, so that it matches foobar and foo/x/bar.
FAULT = re.compile(rb"!?/?[^*?\[\\]*[^*?\[\\/]\*\*+(?:/|\\/|$)")
NAMES = sorted(
    {b"".join(signs) for length in (1, 2) for signs in product(SIGNS, repeat=length)} - {b".", b".."}
)
PATHS = [*NAMES, *(b"/".join(names) for names in product(NAMES[::9], NAMES[::7]))]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    git(folder, "init", "-q")
    return folder


@settings(max_examples=60)
@given(st.lists(LINES.filter(lambda line: not FAULT.match(line)), min_size=1, max_size=2))
def test_random_rules_agree_with_git(repository: Path, lines: list[bytes]) -> None:
    """Check each rule on 415 paths, most of which are not UTF-8, because file names are bytes."""
    rules = b"\n".join(lines)
    (repository / ".gitignore").write_bytes(rules)
    done = subprocess.run(
        ("git", "check-ignore", "--no-index", "-z", "--stdin"),
        cwd=repository, input=b"".join(path + b"\0" for path in PATHS), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert {path for path in PATHS if ignored(rules, os.fsdecode(path))} == set(done.stdout.split(b"\0")[:-1])


def test_no_pattern_is_slow() -> None:
    rules = parse_rules(("*a" * 60 + "\n").encode() + b"**/" * 60 + b"z\n")

    with work_within(2):
        for _ in range(20):
            is_ignored("a/" * 60 + "b", "a" * 250, is_folder=False, rules={"": rules})


@pytest.mark.parametrize(
    "unit", [b"a", b"[", b"[[:", b"[a]", b"*", b"a*", b"**/", b"\\", b"[!", b"[[:alpha:]]"]
)
def test_a_very_long_pattern_is_read_in_linear_time(unit: bytes) -> None:
    def read(length: int) -> None:
        for end in (b"", b"]", b"z"):
            rules = parse_rules((unit * length)[:length] + end)
            is_ignored("a/b", "c", is_folder=False, rules={"": rules})

    short, long = (work_of(partial(read, length), rounds=1) for length in (2_000, 16_000))
    assert long < 40 * short + 0.1, "eight times as long takes eight times as much"

"""Every test that the page about security names exists, and every file with attacks is named there (issue 16)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/explanation/security.md"
NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
OTHER_SUBJECTS: Final = {
    *("test_page.py", "test_container.py", "test_generated.py", "test_words.py"),
    *("test_steps.py", "test_real_command.py", "test_nameless_user.py"),
}
"""Files about single cases of what other tests show."""


def test_the_tests_behind_the_promises_exist() -> None:
    named = NAMED.findall(PAGE.read_text("utf-8"))

    assert len(named) >= 25
    missing = [
        (file, test)
        for file, test in named
        if not re.search(rf"^ *def {test}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_every_suite_of_attacks_is_named() -> None:
    named = {file for file, _ in NAMED.findall(PAGE.read_text("utf-8"))}
    suites = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests/security").rglob("test_*.py")
        if path.name not in OTHER_SUBJECTS
    }

    assert suites - named == set()

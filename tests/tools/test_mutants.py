"""The list of planted bugs fits the code: a bug whose text has changed is never planted, so it proves nothing."""

from __future__ import annotations

import pytest

from tools.mutants import BUGS, ROOT, occurrences
from tools.mutants_core import Bug


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_planted_bug_replaces_a_text_that_is_in_its_file_once(bug: Bug) -> None:
    assert (occurrences(bug), bug.new == bug.old) == (1, False)


@pytest.mark.parametrize("test", sorted({test for bug in BUGS for test in bug.tests}))
def test_a_test_that_must_notice_a_bug_exists(test: str) -> None:
    """Either a whole file or one function of it."""
    file, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text("utf-8") or not name

"""Which files help tests although their names are not those of tests."""

from __future__ import annotations

import pytest

from podium.workflow.test_gates.helpers import may_help_tests


@pytest.mark.parametrize(
    ("path", "content", "helps"),
    [
        ("tests/support/api.py", b"", True),
        ("src/fakes.py", b"", True),
        ("src/app.py", b"import pytest\n", True),
        ("src/app.py", b"import json\n", False),
        ("lib/check.go", b'import "testing"\n', True),
        ("web/app.ts", b"import {expect} from 'chai'\n", True),
        ("web/app.ts", b"import x from 'react'\n", False),
        ("docs/support.md", b"import pytest\n", False),
    ],
)
def test_helpers_of_tests_are_known_by_their_name_or_what_they_import(
    path: str, content: bytes, helps: bool
) -> None:
    assert may_help_tests(path, content) is helps

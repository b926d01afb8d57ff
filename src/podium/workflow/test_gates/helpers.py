"""Recognises files that help tests and have no name of a test: assertions of the project, cases, stand-ins.

A name says little, because the code of a project may be called like that as well. So such a file counts only if tests
alone import it, which `changed_tests` finds out.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

_NAME: Final = re.compile(
    r"(?:.*[-_])?(?:support|helpers?|testing|testutils?|testkit|testlib|testsupport|utils?[-_]for[-_]tests|asserts?|assertions?|checks?"
    r"|checkers?|matchers?|expectations?|cases|factories|fakes?|mocks?|stubs?|doubles|harness)(?:[-_].*)?"
)
_LIBRARY: Final = {
    ".py": re.compile(
        rb"^[ \t]*(?:from|import)[ \t]+(?:_?pytest|unittest|hypothesis|nose2?|behave|testtools|doctest|mock)\b",
        re.MULTILINE,
    ),
    ".go": re.compile(
        rb'^[ \t]*(?:import[ \t]+)?(?:\w+[ \t]+)?"(?:testing|github\.com/stretchr/testify/[\w/]+)"',
        re.MULTILINE,
    ),
    **dict.fromkeys(
        (".js", ".ts", ".mjs", ".mts", ".cjs", ".cts", ".jsx", ".tsx"),
        re.compile(
            rb"[\"'](?:node:test|(?:node:)?assert(?:/strict)?|vitest|@jest/globals|chai|expect|sinon|supertest|ava|tap|uvu"
            rb"|@testing-library/[\w-]+)[\"']"
        ),
    ),
}


def may_help_tests(path: str, content: bytes) -> bool:
    """Whether the name of a file or its imports say that it is there for tests."""
    place = PurePosixPath(path)
    library = _LIBRARY.get(place.suffix)
    if library is None:
        return False
    return is_helpers_name(path) or library.search(content) is not None


def is_helpers_name(path: str) -> bool:
    place = PurePosixPath(path)
    return any(_NAME.fullmatch(part.lower()) for part in (*place.parent.parts, place.stem))

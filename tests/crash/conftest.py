"""What was tried, in numbers, at the end of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import pytest

from tests.crash.enduring import Undisturbed, undisturbed
from tests.crash.nursery import Nursery, nursery

WholeOf: TypeAlias = Callable[[str], Undisturbed]
COUNTS: Counter[str] = Counter()


@pytest.fixture(scope="package")
def warm() -> Iterator[Nursery]:
    with nursery() as made:
        yield made


@pytest.fixture(scope="package")
def whole_of(warm: Nursery, tmp_path_factory: pytest.TempPathFactory) -> WholeOf:
    """What a story comes to undisturbed: played once, when it is first asked for."""

    @cache
    def whole(name: str) -> Undisturbed:
        return undisturbed(warm, name, tmp_path_factory.mktemp(name))

    return whole


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        terminalreporter.section("crashes")
        for what, count in COUNTS.items():
            terminalreporter.write_line(f"{count:>6} {what}")

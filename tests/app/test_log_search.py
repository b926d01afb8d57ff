"""The end of a log, its earlier lines, what was added, and a search that counts everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.query.log_search import MOST_MATCHES, WINDOW, search, since, tail
from podium.app.query.logs import LogFile
from podium.core.types import Address

BIG = 40_000


@pytest.fixture
def big(tmp_path: Path) -> LogFile:
    path = tmp_path / "output.log"
    path.write_text("".join(f"line {number} {'x' * 20}\n" for number in range(1, BIG + 1)))
    return LogFile(Address("tests"), 1, path)


def test_the_tail_of_a_large_file_is_read_without_the_rest(big: LogFile) -> None:
    window = tail(big, lines=3)
    assert [line.split()[1] for line in window.lines] == [str(BIG - 2), str(BIG - 1), str(BIG)]
    assert window.has_earlier
    assert window.end == window.size


def test_earlier_lines_follow_each_other_without_gap_or_repetition(big: LogFile) -> None:
    numbers: list[str] = []
    before = None
    while True:
        window = tail(big, lines=7_000, before=before)
        numbers = [*(line.split()[1] for line in window.lines), *numbers]
        if not window.has_earlier:
            break
        before = window.start
    assert numbers == [str(number) for number in range(1, BIG + 1)]


def test_what_was_added_comes_in_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_bytes(b"one\ntwo\nhal")
    file = LogFile(Address("tests"), 1, path)

    window = since(file, 0)
    assert window.lines == ("one", "two")
    assert since(file, window.end).lines == ()
    path.write_bytes(b"one\ntwo\nhalf\n")
    assert since(file, window.end).lines == ("half",)


def test_a_search_lists_the_first_and_counts_all(big: LogFile) -> None:
    result = search(big, "LINE")
    assert (result.total, len(result.matches)) == (BIG, MOST_MATCHES)
    one = search(big, "line 12345 ")
    assert [(match.line, match.text.split()[1]) for match in one.matches] == [(12345, "12345")]
    assert search(big, "").total == 0


def test_a_text_in_the_log_of_events_and_a_file_that_is_gone_can_be_read(tmp_path: Path) -> None:
    text = LogFile(Address("tests"), 1, None, "a\nb\n")
    assert tail(text).lines == ("a", "b")
    gone = LogFile(Address("tests"), 1, tmp_path / "gone")
    assert (tail(gone).lines, search(gone, "x").total) == ((), 0)


def test_a_line_without_end_is_bounded_and_still_found(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_bytes(b"y" * (3 * WINDOW) + b"needle" + b"y" * 100)
    file = LogFile(Address("tests"), 1, path)

    assert search(file, "needle").total == 1
    assert sum(len(line) for line in tail(file).lines) < WINDOW

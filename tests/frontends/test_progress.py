"""How far a long command is, on a terminal; a pipe gets none of it."""

from __future__ import annotations

import io

import pytest

from podium.frontends.cli import progress
from podium.frontends.cli.progress import ProgressLine


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_sees_the_count_and_is_clean_at_the_end() -> None:
    stream = Stream(terminal=True)
    with ProgressLine("simulated runs", 2000, stream) as line:
        line.update(1200)
    assert stream.getvalue() == "\rsimulated runs: 1,200 of 2,000\x1b[K\r\x1b[K"


def test_a_failure_in_between_leaves_a_clean_line_too() -> None:
    stream = Stream(terminal=True)

    def fail() -> None:
        with ProgressLine("exporting", stream=stream) as line:
            line.name("trees")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert stream.getvalue() == "\rexporting: trees\x1b[K\r\x1b[K"


def test_items_are_counted_as_they_are_taken() -> None:
    stream = Stream(terminal=True)
    with ProgressLine("deleted runs", 2, stream) as line:
        assert list(line.track("ab")) == ["a", "b"]
    assert "deleted runs: 1 of 2" in stream.getvalue()


@pytest.mark.parametrize(("terminal", "term"), [(False, "xterm"), (True, "dumb")])
def test_a_pipe_and_a_dumb_terminal_get_nothing(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    stream = Stream(terminal=terminal)
    with ProgressLine("exporting", stream=stream) as line:
        line.name("trees")
        line.update(1)
    assert stream.getvalue() == ""


def test_what_is_done_at_once_shows_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 60.0)
    stream = Stream(terminal=True)
    with ProgressLine("simulated runs", 2, stream) as line:
        line.update(1)
    assert stream.getvalue() == ""

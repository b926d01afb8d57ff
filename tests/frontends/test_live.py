"""What is shown while a run goes on: moving lines at a terminal, plain lines elsewhere, a summary at the end."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from podium.core.types import Millis
from podium.frontends.cli.live_display import Live
from podium.views.run.builder import run_view
from podium.views.run.questions import with_state
from podium.views.run.view import RunView
from tests.views.kit import SILENT, Told, tell

MOVE = re.compile(r"\x1b\[(\d+)A\x1b\[J")


class Screen(io.StringIO):
    """A terminal that knows the two movements the display makes; `lines` is what a person sees."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def write(self, text: str) -> int:
        while found := MOVE.match(text):
            assert int(found[1]) <= len(self.lines), "moved above the top"
            del self.lines[len(self.lines) - int(found[1]) :]
            text = text[found.end() :]
        assert "\x1b" not in text
        self.lines += text.splitlines()
        return len(text)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


def view_of(told: Told) -> RunView:
    return with_state(run_view(told.events), told.state)


def play(told: Told, live: Live) -> None:
    for moment in told.moments():
        live.update(view_of(moment), Millis(moment.events[-1].at))


@pytest.mark.req("R213")
def test_without_a_terminal_each_start_and_end_is_a_line_with_its_duration(told: Told) -> None:
    out = io.StringIO()
    play(told, Live(out))
    lines = [line.split(" ", 1)[1] for line in out.getvalue().splitlines()]

    assert lines[0] == "INFO    start plan"
    assert "INFO    retry implement (attempt 2): tests failed: 1 failed: greet() returned None" in lines
    assert "WARNING end   implement#1/tests failed 2s" in lines
    assert "INFO    end   implement passed 2m04s  $0.36" in lines
    starts = [line for line in lines if " start " in line]
    ends = [line for line in lines if " end " in line]
    assert len(starts) == len(ends) == len([step for step in view_of(told).steps if step.role != "gates"])
    assert len(set(starts)) == len(starts)
    assert "\x1b" not in out.getvalue()


@pytest.mark.req("R213")
def test_a_level_leaves_out_what_is_below_it(told: Told) -> None:
    out = io.StringIO()
    play(told, Live(out, level="WARNING"))

    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["WARNING"]


def test_what_happened_between_two_looks_is_told_once_each(told: Told) -> None:
    often, seldom = io.StringIO(), io.StringIO()
    play(told, Live(often))
    live = Live(seldom)
    for number in (20, 40, len(told.events)):
        moment = told.until(number)
        live.update(view_of(moment), Millis(moment.events[-1].at))

    def ends(out: io.StringIO) -> list[str]:
        return sorted(line for line in out.getvalue().splitlines() if " end " in line)

    assert ends(seldom) == ends(often)


@pytest.mark.parametrize("number", [1, 3, 20, 40])
def test_what_is_skipped_is_never_told_and_all_else_is(told: Told, number: int) -> None:
    def ends(*moments: Told, skipped: Told | None = None) -> list[str]:
        out = io.StringIO()
        live = Live(out)
        if skipped is not None:
            live.skip(view_of(skipped))
        for moment in moments:
            live.update(view_of(moment), Millis(moment.events[-1].at))
        return sorted(line for line in out.getvalue().splitlines() if " end " in line)

    before, whole = told.until(number), told.until(len(told.events))

    assert ends(whole, skipped=whole) == []
    assert sorted(ends(before) + ends(whole, skipped=before)) == ends(whole)


def test_a_terminal_has_a_line_per_active_step_with_time_cost_and_what_it_waits_for(tmp_path: Path) -> None:
    told = tell(tmp_path, cast=SILENT)
    screen = Screen()
    live = Live(screen, terminal=True, size=lambda: (100, 30))
    play(told, live)
    live.update(view_of(told), Millis(told.events[-1].at + 65_000))

    assert screen.lines[-2] == "?? approve  1m05s  waits for an answer from anyone"
    assert re.fullmatch(
        r"    ?\d+m\d\ds  \$\d+\.\d\d spent, \$0\.00 reserved, at most \$5\.00", screen.lines[-1]
    )
    assert "ok implement  passed  2m04s  $0.36" in screen.lines
    live.above("a word\nand another")
    assert screen.lines[-4:-2] == ["a word", "and another"]
    live.close()
    assert screen.lines[-1] == "and another"


def test_parallel_steps_have_a_line_each_and_no_line_wraps(told: Told) -> None:
    moment = next(
        m for m in told.moments() if len([k for k, _ in m.state.pending.items() if k[0] == "attempt"]) == 2
    )
    screen = Screen()
    Live(screen, terminal=True, size=lambda: (30, 30)).update(view_of(moment), Millis(moment.events[-1].at))

    assert [line[:14] for line in screen.lines[-3:-1]] == [">> review/revi"] * 2
    assert all(len(line) < 30 for line in screen.lines[-3:])


def test_a_small_terminal_shows_how_many_more_there_are(told: Told) -> None:
    moment = next(
        m for m in told.moments() if len([k for k, _ in m.state.pending.items() if k[0] == "attempt"]) == 2
    )
    screen = Screen()
    Live(screen, terminal=True, size=lambda: (80, 4)).update(view_of(moment), Millis(moment.events[-1].at))

    assert screen.lines[-2] == "   and 1 more"


def test_the_summary_has_outcome_steps_cost_time_the_work_and_the_next_command(told: Told) -> None:
    text = Live(io.StringIO()).summary(view_of(told))

    for words in (
        "ship r1  passed",
        "ok implement",
        "$0.36",
        "result: tree",
        "podium diff r1",
        "podium apply r1",
    ):
        assert words in text, words


def test_nothing_is_drawn_when_nothing_changed(told: Told) -> None:
    out = io.StringIO()
    live = Live(out, terminal=True, size=lambda: (80, 24))
    moment = told.until(4)
    live.update(view_of(moment), Millis(0))
    before = out.getvalue()
    live.update(view_of(moment), Millis(0))

    assert out.getvalue() == before


@pytest.mark.req("X2")
def test_the_meter_shows_what_is_spent_reserved_and_allowed(told: Told) -> None:
    """And without a limit on money only what is spent."""
    meters = []
    for moment in told.moments():
        screen = Screen()
        Live(screen, terminal=True).update(view_of(moment), Millis(moment.events[-1].at))
        meters += [line.strip() for line in screen.lines if " reserved, " in line]

    assert any("$0.00 spent, $0.50 reserved, at most $5.00" in meter for meter in meters), meters
    assert any(re.search(r"\$0\.[1-9]\d spent, \$0\.00 reserved", meter) for meter in meters), meters
    screen = Screen()
    view = view_of(next(iter(told.moments())))._replace(limits=())
    Live(screen, terminal=True).update(view, Millis(view.at))
    assert not any("reserved" in line for line in screen.lines)

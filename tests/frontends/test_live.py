"""What is shown while a run goes on: moving lines at a terminal, plain lines elsewhere, a summary at the end."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from podium.core.types import MicroUsd, Millis
from podium.frontends.cli.live_display import Live
from podium.views.run.activity import Activity
from podium.views.run.builder import run_view
from podium.views.run.questions import with_state
from podium.views.run.view import RunView
from podium.views.text.live_tree import ASCII, UNICODE
from tests.views.kit import SILENT, Told, tell

MOVES = re.compile(r"\x1b\[(?:(?P<up>\d+)A|(?P<line>K)|(?P<screen>J))|\n")


class Screen(io.StringIO):
    """A terminal that knows the movements the display makes; `lines` is what a person sees."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[str] = [""]
        self._row = 0

    @property
    def lines(self) -> list[str]:
        return self._rows[:-1]

    def write(self, text: str) -> int:
        at = 0
        for move in MOVES.finditer(text):
            self._put(text[at : move.start()])
            at = move.end()
            if move["up"]:
                self._row -= int(move["up"])
                assert self._row >= 0, "moved above the top"
                self._column = 0
            elif move["line"]:
                self._rows[self._row] = self._rows[self._row][: self._column]
            elif move["screen"]:
                del self._rows[self._row + 1 :]
                self._rows[self._row] = self._rows[self._row][: self._column]
            else:
                self._row, self._column = self._row + 1, 0
                self._rows += [""] * (self._row + 1 - len(self._rows))
        self._put(text[at:])
        return len(text)

    _column = 0

    def _put(self, text: str) -> None:
        assert "\x1b" not in text
        row = self._rows[self._row].ljust(self._column)
        self._rows[self._row] = row[: self._column] + text + row[self._column + len(text) :]
        self._column += len(text)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


def view_of(told: Told) -> RunView:
    return with_state(run_view(told.events), told.state)


def play(told: Told, live: Live) -> None:
    for moment in told.moments():
        live.update(view_of(moment), Millis(moment.events[-1].at))


def plain_lines(out: io.StringIO) -> list[str]:
    """The lines without the time of day."""
    return [line.split("  ", 1)[1] for line in out.getvalue().splitlines()]


@pytest.mark.req("R213")
def test_without_a_terminal_each_start_and_end_is_a_line_with_its_duration(told: Told) -> None:
    out = io.StringIO()
    play(told, Live(out))
    lines = plain_lines(out)

    assert re.fullmatch(r"\d\d:\d\d:\d\d  plan: started", out.getvalue().splitlines()[0])
    assert "implement: attempt 1 failed: tests: 1 failed: greet() returned None" in lines
    assert any(line.startswith("implement#1/tests: failed in 2s: ") for line in lines)
    assert "implement: passed in 2m04s, $0.36" in lines
    starts = [line for line in lines if line.endswith(": started")]
    ends = [line for line in lines if re.search(r": (passed|failed|skipped) in ", line)]
    assert len(starts) == len(ends) == len([step for step in view_of(told).steps if step.role != "gates"])
    assert len(set(starts)) == len(starts)
    assert "\x1b" not in out.getvalue()


@pytest.mark.req("R213")
def test_a_quiet_display_prints_only_steps_that_failed(told: Told, tmp_path: Path) -> None:
    """A gate that failed is not one: the next attempt may pass."""
    passed, failed = io.StringIO(), io.StringIO()
    play(told, Live(passed, detail="quiet"))
    red = "- match: {step: implement/tests}\n  exit: 1\n  text: 1 failed\n"
    (tmp_path / "red").mkdir()
    play(tell(tmp_path / "red", cast=red), Live(failed, detail="quiet"))

    assert passed.getvalue() == ""
    assert plain_lines(failed)[0].startswith("implement: failed")


@pytest.mark.req("R213")
def test_a_verbose_display_prints_what_agents_say_and_do_line_by_line(told: Told) -> None:
    out = io.StringIO()
    live = Live(out, detail="verbose")
    for activity in (
        Activity("text", "I look "),
        Activity("text", "around.\nAnd"),
        Activity("run", "make test"),
        Activity("usage", "", tokens=7),
    ):
        live.report("implement", activity, Millis(0))
    live.update(view_of(told.until(3)), Millis(0))

    assert plain_lines(out)[:3] == [
        'implement: says "I look around."', "implement: And", "implement: runs make test"
    ]  # fmt: skip


def test_without_a_terminal_a_quiet_minute_says_what_the_run_is_doing(tmp_path: Path) -> None:
    told = tell(tmp_path, cast=SILENT)
    out = io.StringIO()
    live = Live(out)
    play(told, live)
    now = told.events[-1].at
    before = len(out.getvalue().splitlines())
    for seconds in (1, 30, 59, 61, 90, 125):
        live.update(view_of(told), Millis(now + seconds * 1000))

    assert plain_lines(out)[before:] == [
        "approve: 1m01s, waits for an answer from anyone",
        "approve: 2m05s, waits for an answer from anyone",
    ]


def test_what_happened_between_two_looks_is_told_once_each(told: Told) -> None:
    often, seldom = io.StringIO(), io.StringIO()
    play(told, Live(often))
    live = Live(seldom)
    for number in (20, 40, len(told.events)):
        moment = told.until(number)
        live.update(view_of(moment), Millis(moment.events[-1].at))

    def ends(out: io.StringIO) -> list[str]:
        return sorted(line for line in out.getvalue().splitlines() if " in " in line)

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
        return sorted(line for line in out.getvalue().splitlines() if " in " in line)

    before, whole = told.until(number), told.until(len(told.events))

    assert ends(whole, skipped=whole) == []
    assert sorted(ends(before) + ends(whole, skipped=before)) == ends(whole)


def test_a_terminal_has_a_row_per_step_with_time_cost_and_what_it_waits_for(tmp_path: Path) -> None:
    told = tell(tmp_path, cast=SILENT)
    screen = Screen()
    live = Live(screen, terminal=True, size=lambda: (100, 30), glyphs=UNICODE)
    play(told, live)
    live.update(view_of(told), Millis(told.events[-1].at + 65_000))

    assert re.match(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ship  \d+m\d\ds  \$\d\.\d\d of \$5\.00", screen.lines[-6])
    assert screen.lines[-4] == "✓ implement   2m04s  $0.36  attempt 2"
    assert screen.lines[-1] == "? approve     1m05s         waits for an answer from anyone"
    assert any("implement: attempt 1 failed: tests: " in line for line in screen.lines[:-6])
    live.above("a word\nand another")
    assert screen.lines[-8:-6] == ["a word", "and another"]
    live.close()
    assert screen.lines[-1] == "and another"


EXHAUSTED = """\
podium: 1
name: ship
steps:
  write: {agent: claude, prompt: Write it, touches: ["**"], gates: [{name: tests, run: [test]}], retry: 1}
"""


def test_a_failed_last_attempt_is_shown_before_the_question_and_not_again_after_the_answer(
    tmp_path: Path,
) -> None:
    cast = "- {match: {step: write/tests, attempt: 1}, exit: 1}\n- {match: {step: 'write/!exhausted'}, action: retry}\n"
    told = tell(tmp_path, flow=EXHAUSTED, cast=cast)
    screen = Screen()
    live = Live(screen, terminal=True, size=lambda: (100, 30), glyphs=ASCII)
    shown: list[tuple[str, ...]] = []

    for moment in told.moments():
        live.update(view_of(moment), Millis(moment.events[-1].at))
        if any(pending.kind == "exhausted" for pending in view_of(moment).pending):
            shown.append(tuple(screen.lines))
    live.close()

    assert shown
    assert all("write: attempt 1 failed" in "\n".join(lines) for lines in shown)
    assert sum("attempt 1 failed" in line for line in screen.lines) == 1
    rows = [line for line in shown[-1] if line[2:7] == "write"]
    assert "checks the result" not in rows[-1]


def test_a_failure_is_broken_between_words_and_not_cut_at_once(tmp_path: Path) -> None:
    told = tell(tmp_path, cast=SILENT)
    screen = Screen()
    play(told, Live(screen, terminal=True, size=lambda: (40, 30), glyphs=ASCII))

    place = next(number for number, line in enumerate(screen.lines) if "implement: attempt 1" in line)
    assert screen.lines[place].startswith("x ")
    assert screen.lines[place + 1].startswith(" " * 12)
    assert all(len(line) <= 40 for line in screen.lines)


def test_parallel_steps_have_a_row_each_and_no_row_wraps(told: Told) -> None:
    moment = next(
        m for m in told.moments() if len([k for k, _ in m.state.pending.items() if k[0] == "attempt"]) == 2
    )
    screen = Screen()
    Live(screen, terminal=True, size=lambda: (30, 30), glyphs=ASCII).update(
        view_of(moment), Millis(moment.events[-1].at)
    )

    assert [line[2:14] for line in screen.lines[-2:]] == ["  reviewer_g", "  reviewer_c"]
    assert all(len(line) < 30 for line in screen.lines)


def test_the_latest_activity_and_the_usual_time_of_a_running_step_are_shown(told: Told) -> None:
    moment = told.until(4)
    step = next(step for step in view_of(moment).steps if step.status == "running")
    screen = Screen()
    live = Live(screen, terminal=True, size=lambda: (100, 30), glyphs=ASCII)
    live.usual = {step.path: Millis(90_000)}
    live.report(step.path, Activity("edit", "src/greet.py"), Millis(0))
    live.report(step.path, Activity("usage", "", tokens=12_000, usd=MicroUsd(250_000)), Millis(0))
    live.update(view_of(moment), Millis(moment.events[-1].at))

    assert screen.lines[-1].endswith("$0.25  usually 1m30s  edits src/greet.py")
    assert "12k tokens" in screen.lines[0]


def test_a_small_terminal_shows_how_many_more_there_are(told: Told) -> None:
    moment = next(
        m for m in told.moments() if len([k for k, _ in m.state.pending.items() if k[0] == "attempt"]) == 2
    )
    screen = Screen()
    live = Live(screen, terminal=True, size=lambda: (80, 5), glyphs=ASCII)
    live.upcoming = lambda _: ["approve", "land"]
    live.update(view_of(moment), Millis(moment.events[-1].at))

    head, row, more = screen.lines[-3:]
    assert " ship  " in head
    assert "reviewer_gemini" in row, "a row that works is worth more than the one around it"
    assert more == "... 2 running, 3 done, 2 to come"


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
def test_the_head_shows_what_is_spent_reserved_and_allowed(told: Told) -> None:
    """And without a limit on money only what is spent."""
    heads = []
    for moment in told.moments():
        screen = Screen()
        Live(screen, terminal=True).update(view_of(moment), Millis(moment.events[-1].at))
        heads += [line for line in screen.lines if " ship  " in line]

    assert any("$0.00 of $5.00 ($0.50 reserved)" in head for head in heads), heads
    assert any(re.search(r"\$0\.[1-9]\d of \$5\.00(?! \()", head) for head in heads), heads
    screen = Screen()
    view = view_of(told.until(4))._replace(limits=())
    Live(screen, terminal=True).update(view, Millis(view.at))
    assert "$0.00" in screen.lines[0]
    assert " of " not in screen.lines[0]


def test_steps_that_take_no_time_start_before_they_end_and_end_from_the_inside(tmp_path: Path) -> None:
    flow = """\
podium: 1
name: at_once
vars: {x: 0}
steps:
  outer: {steps: {inner: {steps: {leaf: {set: {x: 1}}}}}}
  last: {set: {x: 2}}
"""
    told = tell(tmp_path, flow=flow, cast=None)
    out = io.StringIO()
    Live(out).update(view_of(told), Millis(0))

    assert [re.sub(r" in .*", "", line) for line in plain_lines(out)] == [
        "outer: started",
        "outer/inner: started",
        "outer/inner/leaf: started",
        "outer/inner/leaf: passed",
        "outer/inner: passed",
        "outer: passed",
        "last: started",
        "last: passed",
    ]

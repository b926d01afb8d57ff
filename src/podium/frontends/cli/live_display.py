"""What `podium run` shows while it drives a run: at a terminal a tree that is redrawn, elsewhere a line per change (R213)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, TextIO, TypeAlias

from podium.core.types import CONTINUING_OUTCOMES, Address, Millis
from podium.frontends.cli.open_run import can_show, is_colourful, painter
from podium.frontends.cli.safe_terminal import bare
from podium.views.format import clock_time, duration
from podium.views.plain import one_line, wrapped
from podium.views.run.activity import PIECES, Activities, Activity, describe
from podium.views.run.labels import label_address, labelled_step, labels_in
from podium.views.run.view import RunView, StepView, active, duration_of
from podium.views.text.costs import attempt_label, cost, outcome_text
from podium.views.text.live_tree import ASCII, UNICODE, Frame, Glyphs, draw
from podium.views.text.next_steps import waits_for
from podium.views.text.terminal import run_lines

Detail: TypeAlias = Literal["quiet", "normal", "verbose"]
"""`quiet`: only what failed; `verbose`: also what agents do, as lines that stay."""
Size: TypeAlias = Callable[[], tuple[int, int]]

QUIET_MS: Final = 60_000
"""After this long without a line, a display without a terminal says what the run is doing."""
EXHAUSTED: Final = "!exhausted"
"""The question what to do when all attempts are used up."""
TICK_MS: Final = 120
"""How long the spinner keeps a position."""
MOST_ROWS: Final = 3
"""What the line about a failure may take of the screen."""
# Move up by the number of drawn lines; clear to the end of the line, and of the screen (ECMA-48: CUU, EL, ED).
UP: Final = "\x1b[{}A"
CLEAR_LINE: Final = "\x1b[K"
CLEAR_SCREEN: Final = "\x1b[J"


def _size() -> tuple[int, int]:
    size = shutil.get_terminal_size((100, 24))
    return size.columns, size.lines


def is_live(stream: TextIO) -> bool:
    """Whether lines of this stream can be redrawn."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def glyphs_for(stream: TextIO) -> Glyphs:
    return UNICODE if can_show(stream, "".join(UNICODE)) else ASCII


class Live:
    """Owns the lines at the bottom of a terminal until it is closed."""

    def __init__(
        self,
        stream: TextIO,
        *,
        detail: Detail = "normal",
        terminal: bool | None = None,
        size: Size = _size,
        glyphs: Glyphs | None = None,
    ) -> None:
        self._stream = stream
        self._detail = detail
        self._terminal = is_live(stream) if terminal is None else terminal
        self._size = size
        self._glyphs = glyphs_for(stream) if glyphs is None else glyphs
        self._paint = painter(stream) if is_colourful(stream) else lambda text, _: text
        self._drawn: tuple[str, ...] = ()
        self._printed: dict[str, tuple[int, bool]] = {}
        self._first = 0
        """All steps before this one have been printed to their end, so a long run is not walked through again."""
        self._failed: set[tuple[str, int]] = set()
        """The attempts whose failure was printed with the question what to do about it."""
        self._last_line: Millis | None = None
        self._reported = Reported()
        self._labels: Mapping[str, str] = {}
        self.activities = Activities()
        self.upcoming: Callable[[RunView], Sequence[str]] = lambda _: ()
        """The steps that are still to come."""
        self.usual: Mapping[str, Millis] = {}
        """How long steps took in earlier runs."""

    @property
    def is_tree(self) -> bool:
        """Whether it draws a tree, which has to be redrawn all the time."""
        return self._terminal and self._detail != "quiet"

    def update(self, view: RunView, now: Millis, *, still: bool = False) -> None:
        """`still`: no moving lines, because a person is typing below them."""
        self._labels = labels_in(view)
        lines = [*self._reported.take(), *self._changes(view)]
        if lines:
            self._last_line = now
        elif not self._terminal and self._detail != "quiet":
            lines = list(self._quiet_lines(view, now))
        block = tuple(self._block(view, now)) if self.is_tree and not still else ()
        if lines or block != self._drawn:
            self._draw(tuple(lines), block)

    def report(self, path: str, activity: Activity, now: Millis) -> None:
        """Remember what a step is doing."""
        self.activities.take(Address(path), activity)
        if self._detail == "verbose":
            self._reported.add(label_address(Address(path), self._labels), activity, self._stamp(now))

    def skip(self, view: RunView) -> None:
        """Do not print what has happened before."""
        steps, all_over = view.steps, True
        for place in range(self._first, len(steps)):
            step = steps[place]
            if step.status != "running":
                self.activities.forget(step.path)
            all_over = all_over and step.status == "ended"
            if all_over:
                self._first = place + 1
                self._printed.pop(step.path, None)
            elif step.role != "gates":
                self._printed[step.path] = (step.attempts, step.status == "ended")

    @property
    def width(self) -> int | None:
        """Where lines are broken; None: nowhere, because the lines do not go to a terminal."""
        return self._size()[0] if self._terminal else None

    def tell(self, text: str) -> None:
        """Print words above the moving lines; they stay."""
        self._draw(tuple(wrapped(text, self.width)), self._drawn)

    def above(self, text: str) -> None:
        """Print lines as they are above the moving lines; they stay."""
        self._draw(tuple(text.split("\n")), self._drawn)

    def close(self) -> None:
        """Remove the moving lines; what was printed stays."""
        self._draw((), ())

    def summary(self, view: RunView, *, hints: bool = True) -> str:
        """The end of a run or its state: outcome, steps, cost, time, where the work is, what to do next."""
        lines = run_lines(view, view.at, self._paint, hints=hints, width=self.width)
        return "\n".join(["", *(each for line in lines for each in wrapped(line, self.width))])

    def _draw(self, lines: tuple[str, ...], block: tuple[str, ...]) -> None:
        """Write over the lines that were drawn last, without clearing them first, which would flicker."""
        terminal = bare(self._stream)
        if self._drawn:
            terminal.write(UP.format(len(self._drawn)))
        for line in (*"\n".join(lines).split("\n"), *block) if lines else block:
            self._stream.write(line)
            terminal.write(f"{CLEAR_LINE}\n" if self._drawn else "\n")
        if self._drawn:
            terminal.write(CLEAR_SCREEN)
        self._stream.flush()
        self._drawn = block

    def _block(self, view: RunView, now: Millis) -> Iterator[str]:
        if view.ended is not None:
            return
        columns, rows = self._size()
        frame = Frame(now, columns - 1, rows - 1, now // TICK_MS, self._glyphs)
        upcoming = self.upcoming(view)
        yield from draw(view, self.activities, frame, self._paint, upcoming=upcoming, usual=self.usual)

    def _changes(self, view: RunView) -> list[str]:
        """A line for each start and end since the last look, in the order in which it happened."""
        lines: list[tuple[Millis, float, str]] = []
        ends = self._places_of_ends(view.steps)
        for place in range(self._first, len(view.steps)):
            lines += self._new_lines(view.steps[place], view, place, ends)
        self.skip(view)
        return [line for _, _, line in sorted(lines, key=lambda each: each[:2])]

    def _places_of_ends(self, steps: Sequence[StepView]) -> dict[str, float]:
        """Where the end of a step belongs among what happened at the same time: after the last step inside it."""
        ends: dict[str, float] = {}
        for place in reversed(range(self._first, len(steps))):
            step = steps[place]
            ends[step.path] = max(ends.get(step.path, 0), place + 0.5)
            if step.status == "ended":
                ends[step.parent] = max(ends.get(step.parent, 0), ends[step.path] + 0.01)
        return ends

    def _new_lines(
        self, step: StepView, view: RunView, place: int, ends: Mapping[str, float]
    ) -> Iterator[tuple[Millis, float, str]]:
        if step.role == "gates":
            return
        shown = labelled_step(step, labels_in(view))
        printed, over = self._printed.get(step.path, (-1, False))
        all_lines = self._detail == "verbose" or (self._detail == "normal" and not self._terminal)
        if printed < 0 and all_lines:
            yield step.entered, place, self._line(step.entered, f"{shown.path}: started")
        if printed < 0 and step.step == EXHAUSTED and self._detail != "quiet":
            # Before the question what to do about it, not when the answer has been given.
            asking = next(each for each in view.steps if each.path == step.parent)
            self._failed.add((asking.path, asking.tries))
            asking = labelled_step(asking, labels_in(view))
            yield step.entered, place, self._failure(asking, step.entered, asking.tries)
        is_retry = printed < step.attempts > 1 and step.worked and self._detail != "quiet"
        if is_retry and (step.path, step.tries - 1) not in self._failed:
            yield view.at, len(view.steps), self._retry(shown, view.at)
        if step.status == "ended" and not over:
            # The failure of a gate is part of the line about the attempt.
            failed = step.outcome not in CONTINUING_OUTCOMES and "#" not in step.path
            if all_lines or failed:
                yield step.ended or step.entered, ends[step.path], self._ended(shown)

    def _retry(self, step: StepView, at: Millis) -> str:
        if step.replied:
            names = ", ".join(dict.fromkeys(step.replied))
            return self._line(at, f"{step.path}: continues with the reply of {names}")
        if step.attempts in step.repaired:
            return self._line(at, f"{step.path}: {attempt_label(step)}{_reason(step)}")
        return self._failure(step, at, step.tries - 1)

    def _failure(self, step: StepView, at: Millis, attempt: int) -> str:
        return self._line(at, f"{step.path}: attempt {attempt} failed{_reason(step)}", mark="failed")

    def _ended(self, step: StepView) -> str:
        at = step.entered if step.ended is None else step.ended
        price = f", {cost(step)}" if cost(step) else ""
        text = f"{step.path}: {outcome_text(step)} in {duration(duration_of(step, at))}{price}"
        failed = step.outcome not in CONTINUING_OUTCOMES
        if failed and step.why:
            text += f": {step.why}"
        return self._line(at, text, mark="failed" if failed else "passed")

    def _line(self, at: Millis, text: str, mark: Literal["", "failed", "passed"] = "") -> str:
        """With the time of day, and in at most MOST_ROWS rows of a terminal; a pipe gets all of it."""
        line = f"{self._stamp(at)}  {text}"
        if not self._terminal:
            return line
        first, *more = wrapped(line, self._size()[0] - 3, hang=len(self._stamp(at)) + 2, most=MOST_ROWS)
        sign = {"": " ", "failed": self._glyphs.failed, "passed": self._glyphs.passed}[mark]
        first = f"{self._paint(sign, 'good' if mark == 'passed' else 'bad')} {first}"
        return "\n".join([first, *(f"  {row}" for row in more)])

    def _stamp(self, at: Millis) -> str:
        return clock_time(at, seconds=True)

    def _quiet_lines(self, view: RunView, now: Millis) -> Iterator[str]:
        """What the run is doing, if nothing was printed for a while."""
        if self._last_line is None:
            self._last_line = now
        if now - self._last_line < QUIET_MS:
            return
        self._last_line = now
        waits = {pending.path: pending for pending in view.pending}
        for step in active(view):
            pending, doing = waits.get(step.path), self.activities.at(step.path).line
            if pending is None and step.status == "waiting":
                continue  # The line of its question says what is awaited.
            if pending is not None:
                until = "" if pending.due is None else f" until {clock_time(pending.due)}"
                doing = f"waits for {waits_for(pending)}{until}"
            took = duration(duration_of(step, now) // 1000 * 1000)
            path = label_address(step.path, labels_in(view))
            yield self._line(now, f"{path}: {took}{f', {doing}' if doing else ''}")


def _reason(step: StepView) -> str:
    reason = one_line(step.passed_over[-1], 1000) if step.passed_over else step.why
    return f": {reason}" if reason else ""


class Reported:
    """Activities as lines that stay; pieces of text are printed when their line is complete."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: dict[str, str] = {}

    def add(self, path: str, activity: Activity, stamp: str) -> None:
        if activity.kind in PIECES:
            *lines, self._pieces[path] = (self._pieces.get(path, "") + activity.text).split("\n")
            shown = [describe(activity.kind, line) for line in lines]
        else:
            rest = self._pieces.pop(path, "")
            shown = [rest, describe(activity.kind, activity.text, activity.until)]
        self._lines += [f"{stamp}  {path}: {line}" for line in shown if line.strip()]

    def take(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines

"""What `podium run` shows while it drives a run: at a terminal a line per active step, elsewhere a line per change (R213)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Final, Literal, TextIO, TypeAlias

from podium.core.types import CONTINUING_OUTCOMES, Millis
from podium.frontends.cli.open_run import is_colourful, painter
from podium.frontends.cli.safe_terminal import bare
from podium.views.format import dollars, duration, iso
from podium.views.plain import one_line
from podium.views.run.view import RunView, StepView, active, duration_of, elapsed
from podium.views.text.costs import cost, outcome_text, run_cost
from podium.views.text.next_steps import waits_for
from podium.views.text.terminal import Tone, mark_of, run_lines

Level: TypeAlias = Literal["ERROR", "WARNING", "INFO", "DEBUG"]
LEVELS: Final[tuple[Level, ...]] = ("ERROR", "WARNING", "INFO", "DEBUG")
Size: TypeAlias = Callable[[], tuple[int, int]]

# Move up by the number of drawn lines and clear to the end of the screen (ECMA-48: CUU, ED).
ERASE: Final = "\x1b[{}A\x1b[J"


def _size() -> tuple[int, int]:
    size = shutil.get_terminal_size((100, 24))
    return size.columns, size.lines


class Live:
    """Owns the lines at the bottom of a terminal until it is closed."""

    def __init__(
        self, stream: TextIO, *, level: Level = "INFO", terminal: bool | None = None, size: Size = _size
    ) -> None:
        self._stream = stream
        self._level = level
        self._terminal = stream.isatty() if terminal is None else terminal
        self._size = size
        self._paint = painter(stream) if is_colourful(stream) else lambda text, _: text
        self._drawn: tuple[str, ...] = ()
        self._printed: dict[str, tuple[int, bool]] = {}
        self._first = 0
        """All steps before this one have been printed to their end, so a long run is not walked through again."""

    def update(self, view: RunView, now: Millis, *, still: bool = False) -> None:
        """`still`: no moving lines, because a person is typing below them."""
        lines = tuple(self._changes(view))
        block = tuple(self._block(view, now)) if self._terminal and not still else ()
        if lines or block != self._drawn:
            self._draw(lines, block)

    def skip(self, view: RunView) -> None:
        """Do not print what has happened before."""
        steps, all_over = view.steps, True
        for place in range(self._first, len(steps)):
            step = steps[place]
            all_over = all_over and step.status == "ended"
            if all_over:
                self._first = place + 1
                self._printed.pop(step.path, None)
            elif step.role != "gates":
                self._printed[step.path] = (step.attempts, step.status == "ended")

    def above(self, text: str) -> None:
        """Print text above the moving lines; it stays."""
        self._draw(tuple(text.split("\n")), self._drawn)

    def close(self) -> None:
        """Remove the moving lines; what was printed stays."""
        self._draw((), ())

    def summary(self, view: RunView, *, hints: bool = True) -> str:
        """The end of a run or its state: outcome, steps, cost, time, where the work is, what to do next."""
        return "\n".join(["", *run_lines(view, view.at, self._paint, hints=hints)])

    def _draw(self, lines: tuple[str, ...], block: tuple[str, ...]) -> None:
        erase = ERASE.format(len(self._drawn)) if self._drawn else ""
        bare(self._stream).write(erase)
        self._stream.write("".join(f"{line}\n" for line in (*lines, *block)))
        self._stream.flush()
        self._drawn = block

    def _changes(self, view: RunView) -> list[str]:
        """A line for each start and end since the last look, in the order in which it happened."""
        lines: list[tuple[Millis, int, str]] = []
        for place in range(self._first, len(view.steps)):
            lines += self._new_lines(view.steps[place], view)
        self.skip(view)
        # At the same time: inner steps end before the step around them, and new steps start after that.
        return [line for _, _, line in sorted(lines, key=lambda each: each[:2])]

    def _new_lines(self, step: StepView, view: RunView) -> Iterator[tuple[Millis, int, str]]:
        if step.role == "gates":
            return
        printed, over = self._printed.get(step.path, (-1, False))
        if printed < 0 and not self._terminal and self._shows("INFO"):
            yield step.entered, step.depth, self._line("INFO", step.entered, f"start {step.path}")
        if printed < step.attempts > 1 and step.worked and not self._terminal and self._shows("INFO"):
            fault = step.passed_over[-1] if step.passed_over else step.why
            why = f": {one_line(fault, 200)}" if fault else ""
            text = f"retry {step.path} (attempt {step.attempts}){why}"
            yield view.at, 0, self._line("INFO", view.at, text)
        if step.status == "ended" and not over:
            level: Level = "INFO" if step.outcome in CONTINUING_OUTCOMES else "WARNING"
            if self._shows(level):
                yield step.ended or step.entered, -1 - step.depth, self._ended(step, level)

    def _shows(self, level: Level) -> bool:
        return LEVELS.index(level) <= LEVELS.index(self._level)

    def _line(self, level: Level, at: Millis, text: str) -> str:
        return f"{iso(at)} {level:<7} {text}"

    def _ended(self, step: StepView, level: Level) -> str:
        at = step.entered if step.ended is None else step.ended
        took = duration(duration_of(step, at))
        price = f"  {cost(step)}" if cost(step) else ""
        if not self._terminal:
            return self._line(level, at, f"end   {step.path} {outcome_text(step)} {took}{price}")
        mark, tone = mark_of(step)
        return (
            f"{self._paint(mark, tone)} {'  ' * step.depth}{step.path}  {outcome_text(step)}  {took}{price}"
        )

    def _block(self, view: RunView, now: Millis) -> Iterator[str]:
        columns, rows = self._size()
        waits = {pending.path: pending for pending in view.pending}
        steps = tuple(active(view))
        room = max(1, rows - 3)
        for step in steps[:room]:
            mark, tone = mark_of(step)
            what = f"waits for {waits_for(waits[step.path])}" if step.path in waits else step.status
            attempt = f", attempt {step.attempts}" if step.attempts > 1 else ""
            text = f"{step.path}  {duration(duration_of(step, now))}  {what}{attempt}  {cost(step)}".rstrip()
            yield self._fit(mark, tone, text, columns)
        if len(steps) > room:
            yield f"   and {len(steps) - room} more"
        if steps:
            yield self._fit("  ", "dim", f"{duration(elapsed(view, now))}  {_meter(view)}", columns)

    def _fit(self, mark: str, tone: Tone, text: str, columns: int) -> str:
        """A line that wraps could not be erased again."""
        return f"{self._paint(mark, tone)} {text[: max(10, columns - len(mark) - 2)]}"


def _meter(view: RunView) -> str:
    """Spent, reserved and what there is at most, where money is limited."""
    limit = next((limit for limit in view.limits if limit.unit == "usd"), None)
    if limit is None:
        return run_cost(view)
    reserved, most = (dollars(round(value * 1_000_000)) for value in (limit.reserved, limit.limit))
    return f"{run_cost(view)} spent, {reserved} reserved, at most {most}"

"""What the working attempts of a run do right now, from the ends of the files in which they report it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from podium.app.query.logs import ACTIVITY
from podium.core.types import Address
from podium.files.project_paths import ProjectPaths
from podium.views.run.activity import Activities, read_activity
from podium.views.run.view import BUSY, RunView, StepView

END: Final = 16 * 1024
"""Of each file only so much of its end is read."""
MOST: Final = 40
RECENT: Final = 12


class StepActivity(NamedTuple):
    path: Address
    attempt: int
    line: str
    """What it does now; empty if it has reported nothing."""
    recent: tuple[str, ...]
    """What it did before, oldest first."""
    tokens: int


def current_activity(paths: ProjectPaths, view: RunView) -> tuple[StepActivity, ...]:
    return tuple(_of_step(paths, view, step) for step in _working(view))


def activity_stamp(paths: ProjectPaths, view: RunView) -> int:
    """A number that changes when a working attempt has reported something."""
    return hash(tuple((step.path, step.attempts, _size(_file(paths, view, step))) for step in _working(view)))


def _working(view: RunView) -> tuple[StepView, ...]:
    return tuple(step for step in view.steps if step.worked and step.status in BUSY)[:MOST]


def _of_step(paths: ProjectPaths, view: RunView, step: StepView) -> StepActivity:
    activities = Activities()
    lines: list[str] = []
    for line in _last_lines(_file(paths, view, step)):
        activity = read_activity(line)
        if activity is not None:
            activities.take(step.path, activity)
            shown = activities.at(step.path).line
            if shown and (not lines or lines[-1] != shown):
                lines.append(shown)
    now = activities.at(step.path)
    return StepActivity(step.path, step.attempts, now.line, tuple(lines[-RECENT:]), now.tokens)


def _file(paths: ProjectPaths, view: RunView, step: StepView) -> Path:
    place = step.path.replace("/", "+")
    return paths.run_dir(view.run) / "agent_logs" / place / str(step.attempts) / ACTIVITY


def _last_lines(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as source:
            start = max(0, source.seek(0, 2) - END)
            source.seek(start)
            lines = source.read(END).split(b"\n")
    except OSError:
        return
    yield from lines[1:] if start else lines


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1

"""Shared by the commands that look at runs: which project, which run, and how lines reach a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

import click

from podium.app.paths import project_root, user_dir
from podium.frontends.cli.completion import complete_run
from podium.frontends.cli.safe_terminal import COLOURS

if TYPE_CHECKING:
    from podium.app.project import Office
    from podium.ports.store import RunHead
    from podium.views.text.terminal import Paint, Tone

LOOK_S: Final = 0.2
"""How long a follower waits between two looks."""

run_argument = click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_run)


class OpenedRun(NamedTuple):
    office: Office
    head: RunHead


@contextmanager
def found(run: str | None) -> Iterator[OpenedRun]:
    """The run that is meant: an id, its beginning, @2, latest; nothing means the newest."""
    from podium.app.query.runs import find_run

    with opened() as office:
        yield OpenedRun(office, find_run(office.runtime, run))


@contextmanager
def opened() -> Iterator[Office]:
    from podium.wiring import open_office

    office = open_office(project_root(Path.cwd()), user_dir=user_dir())
    try:
        yield office
    finally:
        office.runtime.close()


def wait() -> None:
    time.sleep(LOOK_S)


def is_colourful(stream: TextIO) -> bool:
    """https://no-color.org; TERM=dumb cannot show any."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painter(stream: TextIO | None = None) -> Paint:
    colourful = is_colourful(sys.stdout if stream is None else stream)

    def paint(text: str, tone: Tone) -> str:
        return f"\x1b[{COLOURS[tone]}m{text}\x1b[0m" if colourful and text else text

    return paint

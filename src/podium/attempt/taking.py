"""A person who takes a step over: which attempt it is, and the terminal for the agent's own program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from podium.core.addresses import without_visits
from podium.core.events import AttemptStarted, AttemptTaken
from podium.core.types import Address, Tree
from podium.fast_dataclass import dataclass
from podium.process.terminal import Terminal


@dataclass(frozen=True, slots=True)
class EarlierWork:
    """The last attempt of the step in the run that this one continues."""

    log_dir: Path
    base: Tree | None
    """The tree from which the step worked."""
    tree: Tree | None
    """What it left."""


def not_announced(event: AttemptTaken) -> None:
    """For runs that no engine drives."""


@dataclass(slots=True)
class Taking:
    """The next attempt of one step that does work; every later one is the agent's again."""

    step: Address
    by: str
    terminal: Terminal
    open_terminal: Callable[[str], AbstractContextManager[None]]
    """Frees the terminal for the program while inside, after printing a text about the attempt."""
    earlier: EarlierWork | None = None
    announce: Callable[[AttemptTaken], None] = not_announced
    """Records that the person has begun."""
    is_used: bool = False

    def takes(self, started: AttemptStarted) -> bool:
        return not self.is_used and without_visits(started.path) == without_visits(self.step)

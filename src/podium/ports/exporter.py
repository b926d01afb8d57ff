"""The protocol of exporters, which show a run in the files of another tool and read answers from there.

Which exporters a run has depends on the format of its workflow file; the native format has none.
Rule 1: files that an exporter writes are never read back; it reads only answers.
Rule 2: files that people add stay, except those that have answered a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from podium.core.events import Event
from podium.core.messages import Approve
from podium.redaction.mask import Mask
from podium.views.run.view import Pending, RunView


class RunExporter(Protocol):
    """The files of one run in one format. Only the owner of the run calls `write` and `answers`."""

    def write(self, view: RunView, events: Sequence[Event]) -> None:
        """Bring the files up to date.

        Called in a thread, at most twice a second, and once more when the owner releases the run.
        """

    def answers(self, pending: Sequence[Pending]) -> Iterable[Approve]:
        """The answers that people wrote to these open questions since the last call.

        Removes the files that answered a question which is no longer open. Called ten times a second.
        """

    def answer_files(self) -> Iterable[Path]:
        """Files that may contain an answer, whether or not a question is open."""


ExportersFor: TypeAlias = Callable[[Path, str, Mask, Path], tuple[RunExporter, ...]]
"""Chooses the exporters of a run by its folder and the text of its workflow file; their output is masked.

The last argument is the root of the project."""

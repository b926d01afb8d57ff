"""The protocol of what shows a run in the files of another tool, and takes answers from there.

Which exporters a run has depends on the format of its workflow file; the native format has none.
Rule 1: what an exporter writes is a view of the run and is never read back; only answers are read.
Rule 2: a file that people put there stays, unless it has answered a question.
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
    """The files of one run in one format. All but `answer_files` is for the process that owns the run."""

    def write(self, view: RunView, events: Sequence[Event]) -> None:
        """Bring the files up to date.

        Called in a thread, at most twice a second, and once more when the owner releases the run.
        """

    def answers(self, pending: Sequence[Pending]) -> Iterable[Approve]:
        """What people wrote since the last call about these open questions.

        Removes the files that answered a question which is no longer open. Called ten times a second.
        """

    def answer_files(self) -> Iterable[Path]:
        """Files that may hold an answer, whether or not a question is open."""


ExportersFor: TypeAlias = Callable[[Path, str, Mask], tuple[RunExporter, ...]]
"""Chooses the exporters of a run by its folder and the text of its workflow file; they mask what they write."""

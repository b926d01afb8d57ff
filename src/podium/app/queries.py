"""What can be asked about the runs of a project, for every frontend; nothing here changes a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.app.forecast.context import ContextRecord
    from podium.app.forecast.prompt import PromptRecord
    from podium.app.project import Project
    from podium.app.query.diff import Span
    from podium.app.query.exhibits import Exhibit
    from podium.app.query.inbox import Question
    from podium.app.query.logs import LogFile
    from podium.app.query.run_pages import Page
    from podium.app.run.cost_history import History
    from podium.core.hash_chain import Record, RunId
    from podium.core.model import Workflow
    from podium.core.types import Address
    from podium.git.trees.diff import Change
    from podium.ports.runtime import LogCheck
    from podium.views.pictures.states import NodeState
    from podium.views.run.costs import By, CostReport
    from podium.views.run.thread import Thread
    from podium.views.run.view import Pending, RunView


class Queries:
    def __init__(self, project: Project) -> None:
        self._project = project

    def runs_page(
        self,
        *,
        limit: int,
        before: str = "",
        status: Collection[str] = (),
        workflow: str = "",
        text: str = "",
    ) -> Page:
        """A page of the list of runs, with their number by status."""
        from podium.app.query.run_pages import runs_page
        from podium.app.query.shelf import Shelf

        return runs_page(
            Shelf(self._project), limit=limit, before=before, status=status, workflow=workflow, text=text
        )

    def runs(
        self, limit: int | None = None, *, status: str | None = None, workflow: str | None = None
    ) -> tuple[tuple[RunView, ...], int]:
        """The newest runs, all by default and without their steps, and how many more there are."""
        from podium.app.query.runs import list_runs

        return list_runs(self._project, limit, status=status, workflow=workflow)

    def show(self, run: RunId) -> RunView:
        """One run with its steps, costs and open questions."""
        from podium.app.query.runs import show

        return show(self._project, self._project.run(run))

    def picture(self, run: RunId) -> tuple[Workflow, Mapping[Address, NodeState]]:
        """The workflow of a run, and how far each of its steps is."""
        from podium.app.query.runs import picture

        return picture(self._project, self._project.run(run))

    def thread(self, run: RunId) -> Thread:
        """What the workers of a run said to each other."""
        from podium.runtime.records import events_of
        from podium.views.run.thread import thread_of

        return thread_of(events_of(self._project.runtime.events(run)))

    def events(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        """The stored events after a number."""
        return self._project.runtime.events(run, after=after)

    def follow(self, run: RunId, *, after: int = 0) -> Iterator[Record | None]:
        """The events after a number until the run ends; None means that the caller should wait."""
        from podium.app.query.runs import follow

        return follow(self._project.runtime, run, after=after)

    async def wait(self, run: RunId, *, after: int) -> None:
        """Return when there is an event after number `after`, or when the run is gone."""
        await self._project.runtime.wait(run, after=after)

    def has_ended(self, run: RunId) -> bool:
        from podium.app.query.runs import ENDED

        return self._project.run(run).status in ENDED

    def newest_of_series(self, run: RunId) -> RunId:
        """The run in which the series of this one goes on, or this one."""
        from podium.app.run.series import newest_of

        return newest_of(self._project.runtime, self._project.run(run)).run

    def inbox(self) -> tuple[Question, ...]:
        """Everything that runs wait for, the oldest first, with what each question is about."""
        from podium.app.query.inbox import open_questions

        return open_questions(self._project, with_exhibits=True)

    def exhibits(self, view: RunView, pending: Pending) -> tuple[Exhibit, ...]:
        """What a question is about: what its `show` names, and artifacts."""
        from podium.app.query.exhibits import exhibits

        return exhibits(self._project, view, pending)

    def artifacts(self, view: RunView, step: str) -> tuple[tuple[str, str], ...]:
        """The stored files of the last visit of a step, by name, with their texts."""
        from podium.app.query.exhibits import artifacts
        from podium.views.run.view import steps_named

        return tuple(artifacts(self._project, view, steps_named(view, step)[-1].path))

    def logs(
        self, run: RunId, step: str | None = None, *, failed: bool = False, live: bool = False
    ) -> tuple[LogFile, ...]:
        """The stored files of a run's attempts; with `live` only what they do and print."""
        from podium.app.query.logs import log_files

        return log_files(self._project.paths, self.show(run), step, failed=failed, live=live)

    def diff(self, span: Span) -> tuple[str, bool]:
        """The changes between two trees as text, and whether it was truncated."""
        from podium.app.query.diff import read_diff

        return read_diff(self._project.paths, span)

    def changes(self, span: Span) -> tuple[Change, ...]:
        """The changed files between two trees."""
        from podium.app.query.diff import read_changes

        return read_changes(self._project.paths, span)

    def prompt(self, run: RunId, step: str, attempt: int | None = None) -> PromptRecord:
        """What an agent was sent in a run."""
        from podium.app.forecast.prompt import told_in_run

        return told_in_run(self._project.paths, self.show(run), step, attempt)

    def report(self, run: RunId, *, as_markdown: bool = False, without: Collection[str] = ()) -> bytes:
        """A run as one HTML page, or as Markdown for a pull request."""
        from podium.app.archive.report import gather_report, page_bytes

        return page_bytes(
            gather_report(self._project, self._project.run(run), without=without), as_markdown=as_markdown
        )

    def context(self, run: RunId, step: str, attempt: int | None = None) -> ContextRecord:
        """What was packed into the prompt of a step in a run."""
        from podium.app.forecast.context import context_in_run

        return context_in_run(self._project.paths, self.show(run), step, attempt)

    def costs(self, run: RunId | None, by: By, *, series: bool = False) -> tuple[CostReport, int]:
        """The costs of one run, of its series, or of all runs together, and the number of runs."""
        from podium.app.query.runs import costs
        from podium.app.run.series import runs_of_series

        heads = self._project.runtime.heads() if run is None else (self._project.run(run),)
        heads = runs_of_series(self._project.runtime, heads[0]) if series else heads
        return costs(self._project.runtime, heads, by), len(heads)

    def history(self, workflow: Workflow) -> History:
        """What calls have used in earlier runs of a workflow; empty if it calls no agent."""
        from podium.app.run.cost_history import history_for

        return history_for(self._project.runtime, workflow)

    def verify(self, run: RunId) -> LogCheck:
        """Whether the log of a run is complete and unaltered."""
        return self._project.runtime.verify(run)

    def lost_runs(self) -> tuple[str, ...]:
        """Run folders whose run is not in the log; another log has taken its place, or it was deleted."""
        return self._project.runtime.lost_runs()

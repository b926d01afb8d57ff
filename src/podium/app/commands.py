"""What changes the runs of a project, for every frontend: start, drive, answer, steer, land, export and delete.

Each use case has a module of its own, which is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.app.archive.export import Exported
    from podium.app.archive.gc import ExpiredRun
    from podium.app.project import Project
    from podium.app.run.answer import Answer
    from podium.app.run.apply import Applied
    from podium.app.run.drive import Observer
    from podium.app.run.rerun import RerunPreview
    from podium.app.run.send import GuidanceReply, SendResult
    from podium.app.run.start import RunRequest, StartedRun
    from podium.app.run.take import TakePlan
    from podium.attempt.taking import Taking
    from podium.core.hash_chain import RunId
    from podium.core.messages import Cancel, Command, Guide
    from podium.core.state import State
    from podium.core.types import Millis
    from podium.ports.runtime import Park, RunCommand
    from podium.views.evidence.decisions import Channel


class Commands:
    def __init__(self, project: Project) -> None:
        self._project = project

    def _refuse_inside_step(self, what: str) -> None:
        from podium.app.inside_step import refuse_inside_step

        refuse_inside_step(self._project.paths, what)

    def start(self, request: RunRequest, *, on_trial: Callable[[str], None] = lambda _: None) -> StartedRun:
        """Create a run; raises with everything that is wrong with it before it exists.

        `on_trial` is told which gates run on the base before that.
        """
        self._refuse_inside_step("start a run")
        from podium.app.run.start import start_run

        return start_run(self._project, request, on_trial=on_trial)

    def drive(
        self,
        run: RunId,
        *commands: Command,
        park: Park,
        observer: Observer | None = None,
        signals: bool = True,
    ) -> Awaitable[State]:
        """Drive a run until it ends or can be released."""
        self._refuse_inside_step("drive a run")
        from podium.app.run.drive import NO_OBSERVER, drive

        return drive(
            self._project, run, *commands, park=park, observer=observer or NO_OBSERVER, signals=signals
        )

    def guide(self, run: RunId, command: Guide, *, channel: Channel = "cli") -> Awaitable[GuidanceReply]:
        """Send guidance to a run, and find out which of its agents get it."""
        self._refuse_inside_step("guide a run")
        from podium.app.run.send import guide

        return guide(self._project, run, command, channel=channel)

    def send(
        self,
        run: RunId,
        command: RunCommand,
        *,
        drives: bool = True,
        observer: Observer | None = None,
        on_accepted: Callable[[], None] | None = None,
        signals: bool = True,
        channel: Channel = "cli",
    ) -> Awaitable[SendResult]:
        """Send a command to the owner of a run, or become the owner; raises with the reason if it is refused."""
        self._refuse_inside_step("decide about a run")
        from podium.app.run.drive import NO_OBSERVER
        from podium.app.run.send import send

        return send(
            self._project,
            run,
            command,
            drives=drives,
            observer=observer or NO_OBSERVER,
            on_accepted=on_accepted,
            signals=signals,
            channel=channel,
        )

    def waiting_run(self, *, for_value: bool = False) -> RunId | None:
        """The only run that waits for a person; raises with all of them if there are several."""
        from podium.app.run.answer import waiting_run

        return waiting_run(self._project, for_value=for_value)

    def approval(
        self,
        run: RunId,
        step: str | None = None,
        *,
        by: str,
        action: str | None = None,
        feedback: str = "",
        details: Mapping[str, str] | None = None,
        tree: str | None = None,
        how: str = "command",
    ) -> Answer:
        """The command that approves what a run asks, or takes another of the actions that the question offers."""
        self._refuse_inside_step("approve")
        from podium.app.run.answer import approval

        return approval(
            self._project,
            run,
            step,
            by=by,
            action=action,
            feedback=feedback,
            details=details,
            tree=tree,
            how=how,
        )

    def rejection(
        self,
        run: RunId,
        step: str | None = None,
        *,
        by: str,
        feedback: str = "",
        abort: bool = False,
        tree: str | None = None,
        how: str = "command",
    ) -> Answer:
        """The command that rejects what a run asks."""
        self._refuse_inside_step("reject")
        from podium.app.run.answer import rejection

        return rejection(self._project, run, step, by=by, feedback=feedback, abort=abort, tree=tree, how=how)

    def value(
        self,
        run: RunId,
        step: str | None = None,
        *,
        by: str,
        value: Any,
        tree: str | None = None,
        how: str = "command",
    ) -> Answer:
        """The command that answers a question with a value."""
        self._refuse_inside_step("answer")
        from podium.app.run.answer import value_answer

        return value_answer(self._project, run, step, by=by, value=value, tree=tree, how=how)

    def preview_rerun(
        self,
        run: RunId,
        *,
        step: str | None = None,
        downstream: bool = False,
        inputs: Mapping[str, Any] | None = None,
        onto: str | None = None,
    ) -> RerunPreview:
        """What a new run that continues this one would reuse and repeat."""
        from podium.app.run.rerun import preview_rerun

        return preview_rerun(self._project, run, step=step, downstream=downstream, inputs=inputs, onto=onto)

    def preview_raise(
        self, run: RunId, pairs: Iterable[str], *, by: str, why: str = "", over_ceiling: bool = False
    ) -> RerunPreview:
        """What a new run with higher limits would reuse and repeat; raises if the limits may not be raised."""
        from podium.app.run.raise_limits import preview_raise

        return preview_raise(self._project, run, pairs, by=by, why=why, over_ceiling=over_ceiling)

    def plan_take(self, run: RunId, step: str, *, by: str, sandbox: str | None = None) -> TakePlan:
        """How a person can do the next attempt of a step; raises with the reason if that is not possible."""
        from podium.app.run.take import plan_take

        return plan_take(self._project, run, step, by=by, sandbox=sandbox)

    def take(self, plan: TakePlan, taking: Taking) -> RunId:
        """Hand the attempt to the person; returns the run to drive, which is a new one if the other has ended."""
        from podium.app.run.take import hand_over

        return hand_over(self._project, plan, taking)

    def rerun(self, preview: RerunPreview, *, closed_by: str | None = None) -> StartedRun:
        """Create the run that was previewed; with `closed_by` the earlier one is closed if it is not over."""
        self._refuse_inside_step("start a run")
        from podium.app.run.rerun import start_rerun

        return start_rerun(self._project, preview, closed_by=closed_by)

    def abandon(self, run: RunId, command: Cancel) -> None:
        """End a run that cannot be driven, since its definition has changed or is gone."""
        self._project.runtime.abandon(run, command)

    def apply(self, run: RunId, *, branch: str | None = None, message: str | None = None) -> Applied:
        """Merge the changes of a run that has passed into a branch."""
        self._refuse_inside_step("end a run")
        self._refuse_inside_step("apply work")
        from podium.app.run.apply import apply

        return apply(self._project, run, branch=branch, message=message)

    def rebuild(self, run: RunId) -> None:
        """Write the files of a run's folder again from its log."""
        self._project.runtime.rebuild(run)

    def export(
        self, run: RunId, folder: Path, *, on_part: Callable[[str], None] = lambda _: None
    ) -> Exported:
        """Write a run into a folder that anybody can verify; `on_part` is told what is written next."""
        from podium.app.archive.export import export

        return export(self._project, self._project.run(run), folder, on_part)

    def export_series(
        self, run: RunId, folder: Path, *, on_part: Callable[[str], None] = lambda _: None
    ) -> tuple[Exported, ...]:
        """Write all runs of a series, each into a folder of its own below this one, the oldest first."""
        from podium.app.archive.export import check_place, export
        from podium.app.run.series import runs_of_series

        check_place(folder)
        heads = runs_of_series(self._project.runtime, self._project.run(run))
        return tuple(export(self._project, head, folder / head.run, on_part) for head in heads)

    def expired(
        self, *, before: Millis, now: Millis | None = None, unlanded: bool = False
    ) -> tuple[ExpiredRun, ...]:
        """The runs that `delete` may delete."""
        from podium.app.archive.gc import preview

        return preview(self._project, before=before, now=now, unlanded=unlanded)

    def delete(self, runs: Iterable[ExpiredRun], *, without_history: bool = False) -> dict[RunId, str]:
        """Delete runs; returns those that were refused because their numbers cannot be kept, with the reasons."""
        self._refuse_inside_step("delete runs")
        from podium.app.archive.gc import delete

        return delete(self._project, runs, without_history=without_history)

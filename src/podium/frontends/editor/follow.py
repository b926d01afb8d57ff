"""Shows a run in a session while it works, and asks its questions there if a person has allowed that."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from acp.helpers import update_agent_message_text
from acp.schema import AllowedOutcome

from podium.app.assistant.changed_texts import changed_texts
from podium.app.assistant.start import send_for_assistant
from podium.app.query.diff import Span
from podium.app.query.runs import ENDED, definition_of
from podium.app.run.answer import value_answer
from podium.core.hash_chain import RunId
from podium.frontends.editor.updates import (
    asks_for_choice,
    edit_of,
    open_questions,
    outcome_line,
    permission_call,
    permission_options,
    plan_of,
    question_text,
    top_steps,
)
from podium.views.text.costs import run_cost

if TYPE_CHECKING:
    from acp.interfaces import Client

    from podium.app.assistant.changed_texts import ChangedText
    from podium.app.project import Project
    from podium.frontends.editor.sessions import Session
    from podium.frontends.project_access import Access
    from podium.views.run.view import Pending, RunView, StepView

LOOK_S: Final = 0.3
SETTLE_S: Final = 2.0
"""How long a run that waits is watched before its question is shown: its process may be about to read an answer."""
QUIET: Final = ("parked", "paused", "interrupted", *ENDED)


class Follower:
    def __init__(self, access: Access, session: Session, client: Client) -> None:
        self._access, self._session, self._client = access, session, client
        self._names: tuple[str, ...] = ()
        self._plan: Any = None
        self._shown: set[str] = set()
        """The visits whose outcome was shown."""
        self._answered: set[tuple[str, int]] = set()

    async def replay(self) -> None:
        """Show what has happened so far, in a session that is opened again."""
        view = await self._view()
        await self._show(view)
        await self._end(view)

    async def follow(self) -> None:
        """Until the run has ended, needs a person elsewhere, or was stopped."""
        seq, since = -1, time.monotonic()
        while True:
            view = await self._view()
            if view.seq != seq:
                seq, since = view.seq, time.monotonic()
                await self._show(view)
            if view.status in QUIET or (view.status == "waiting" and time.monotonic() - since > SETTLE_S):
                if not await self._ask(view):
                    await self._end(view)
                    return
                seq, since = -1, time.monotonic()
            await asyncio.sleep(LOOK_S)

    async def answer_text(self, text: str) -> bool:
        """Give a text to the question of the run that takes one; False if there is none, or it may not be answered here."""
        view = await self._view()
        question = next((each for each in open_questions(view) if "answer" in each.actions), None)
        if question is None or not self._access.may_answer or not text:
            return False
        speaker = self._access.speaker

        def send(project: Project) -> None:
            answer = value_answer(project, RunId(view.run), question.path, by=speaker.name, value=text)
            send_for_assistant(project, view.run, answer.message, speaker, continues=True)

        await self._access.change(send)
        return True

    async def _show(self, view: RunView) -> None:
        if not self._names:
            self._names = await self._access.change(lambda project: _names(project, view.run))
        plan = plan_of(view, self._names)
        if plan != self._plan:
            self._plan = plan
            await self._client.session_update(session_id=self._session.id, update=plan)
        for step in top_steps(view).values():
            if step.status == "ended" and step.path not in self._shown:
                self._shown.add(step.path)
                await self._show_end(view, step)

    async def _show_end(self, view: RunView, step: StepView) -> None:
        changes = await self._access.change(lambda project: _changes(project, step))
        edit = edit_of(view.run, step, changes, self._session.root)
        if edit is not None:
            await self._client.session_update(session_id=self._session.id, update=edit)
        await self._say(outcome_line(step))

    async def _ask(self, view: RunView) -> bool:
        """Ask the first question in the editor; False if it was not answered there."""
        if view.status not in ("parked", "waiting") or not self._access.may_answer:
            return False
        for question in open_questions(view):
            if asks_for_choice(question) and (question.path, question.since) not in self._answered:
                self._answered.add((question.path, question.since))
                return await self._ask_one(view, question)
        return False

    async def _ask_one(self, view: RunView, question: Pending) -> bool:
        reply = await self._client.request_permission(
            session_id=self._session.id,
            tool_call=permission_call(view, question),
            options=permission_options(question),
        )
        if not isinstance(reply.outcome, AllowedOutcome) or self._session.cancels:
            return False
        action, speaker = reply.outcome.option_id, self._access.speaker

        def send(project: Project) -> str:
            tree = question.tree
            commands, run = project.commands, RunId(view.run)
            answer = (
                commands.rejection(run, question.path, by=speaker.name, abort=action == "abort", tree=tree)
                if action in ("reject", "abort")
                else commands.approval(
                    run,
                    question.path,
                    by=speaker.name,
                    action=None if action == "approve" else action,
                    tree=tree,
                )
            )
            send_for_assistant(project, view.run, answer.message, speaker, continues=True)
            return str(answer)

        await self._say(f"{await self._access.change(send)}\n")
        return True

    async def _end(self, view: RunView) -> None:
        words = [f"Run {view.run}: {view.status}, {run_cost(view)}.\n"]
        words += [question_text(view, each) for each in open_questions(view)]
        if view.status == "paused":
            words.append("Write anything to continue it.\n")
        await self._say("".join(words))

    async def _view(self) -> RunView:
        run = self._session.run
        return await self._access.change(lambda project: project.queries.show(project.run(run).run))

    async def _say(self, text: str) -> None:
        await self._client.session_update(session_id=self._session.id, update=update_agent_message_text(text))


def _names(project: Project, run: str) -> tuple[str, ...]:
    workflow = definition_of(project, project.run(run))
    return () if workflow is None else tuple(step.name for step in workflow.body.steps)


def _changes(project: Project, step: StepView) -> tuple[ChangedText, ...]:
    if step.base is None or step.tree is None or step.base == step.tree:
        return ()
    return tuple(changed_texts(project, Span(step.base, step.tree)))

"""The tools that start and steer runs. None of them answers a question, except `answer`, which a person must allow."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from pydantic import Field

from podium.app.assistant.start import resume_for_assistant, send_for_assistant, start_for_assistant
from podium.core.messages import Cancel, Guide, Pause
from podium.errors import ConfigurationError
from podium.frontends.mcp.run_queries import Run

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.run.answer import Answer
    from podium.core.hash_chain import RunId
    from podium.frontends.project_access import Access


class RunControl:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def start_run(
        self,
        workflow: Annotated[str, Field(description="The workflow file, as a path inside the project.")],
        inputs: Annotated[
            dict[str, Any] | None, Field(description="The values of its inputs by name.")
        ] = None,
        note: Annotated[str, Field(description="What is new in this run, for later comparisons.")] = "",
    ) -> str:
        """Start a workflow in the background and return the id of the run, its worst case and what limits it."""

        def start(project: Project) -> str:
            started, forecast = start_for_assistant(
                project, workflow, inputs or {}, self._access.speaker, note=note
            )
            ignored = len(started.uncommitted)
            lines = [f"run {started.run} has started: {forecast}"]
            if ignored:
                lines.append(f"it works on the last commit, without {ignored} uncommitted files")
            return "\n".join((*lines, "follow it with wait_for_run; a person decides what it asks"))

        return await self._access.change(start)

    async def guide(self, text: Annotated[str, Field(max_length=8000)], run: Run = "latest") -> str:
        """Send guidance to the agents that work in a run; the next attempt to start gets it if none can take it now."""

        def send(project: Project) -> str:
            chosen = project.run(run).run
            reply = anyio.run(
                partial(
                    project.commands.guide,
                    chosen,
                    Guide(self._access.speaker.name, text),
                    channel=self._access.speaker.channel,
                )
            )
            reached = ", ".join((*reply.reached, *reply.waiting))
            return f"run {chosen}: " + (
                f"sent to {reached}" if reached else "the next attempt that starts gets it"
            )

        return await self._access.change(send)

    async def pause(self, run: Run = "latest") -> str:
        """Pause a run: active attempts finish, nothing new starts."""
        return await self._send(run, Pause(self._access.speaker.name), "paused", continues=False)

    async def cancel(self, run: Run, reason: str = "") -> str:
        """Cancel a run for good. Its work so far is kept; its `finally` steps still run."""
        return await self._send(run, Cancel(self._access.speaker.name, reason), "cancelling", continues=True)

    async def resume(self, run: Run = "latest") -> str:
        """Continue a paused or interrupted run in the background. It does not answer what the run asks."""

        def resume(project: Project) -> str:
            return (
                f"run {resume_for_assistant(project, run, self._access.speaker)} continues in the background"
            )

        return await self._access.change(resume)

    async def _send(self, run: str, command: Pause | Cancel, words: str, *, continues: bool) -> str:
        def send(project: Project) -> str:
            return f"run {send_for_assistant(project, run, command, self._access.speaker, continues=continues)}: {words}"

        return await self._access.change(send)


class Answering:
    """The tool of an assistant that a person lets answer for them, with --may-answer."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def answer(
        self,
        run: Annotated[str, Field(description="The id of the run.")],
        step: Annotated[str, Field(description="The `path` of the question, as inbox shows it.")],
        tree: Annotated[
            str | None, Field(description="The `tree` that inbox showed; null only if it showed none.")
        ],
        action: Annotated[
            str, Field(description="One of its `actions`, such as approve, reject, abort or answer.")
        ],
        feedback: Annotated[str, Field(description="Words for the agents that work on it next.")] = "",
        value: Annotated[Any, Field(description="With the action answer: the value.")] = None,
    ) -> str:
        """Answer a question of a run for the person who has allowed it. It is recorded as done by you."""

        def send(project: Project) -> str:
            chosen = project.run(run).run
            answer = self._answer(project, chosen, step, tree, action, feedback, value)
            send_for_assistant(project, chosen, answer.message, self._access.speaker, continues=True)
            return str(answer)

        return await self._access.change(send)

    def _answer(
        self,
        project: Project,
        run: RunId,
        step: str,
        tree: str | None,
        action: str,
        feedback: str,
        value: Any,
    ) -> Answer:
        commands, by = project.commands, self._access.speaker.name
        _check_tree(project, run, step, tree)
        match action:
            case "answer":
                return commands.value(run, step, by=by, value=value, tree=tree)
            case "reject" | "abort":
                return commands.rejection(
                    run, step, by=by, feedback=feedback, abort=action == "abort", tree=tree
                )
            case "approve":
                return commands.approval(run, step, by=by, feedback=feedback, tree=tree)
            case _:
                return commands.approval(run, step, by=by, action=action, feedback=feedback, tree=tree)


def _check_tree(project: Project, run: RunId, step: str, tree: str | None) -> None:
    """An answer is about what was seen: where a question is about files, their tree has to be named."""
    for pending in project.queries.show(run).pending:
        if pending.path == step and pending.tree is not None and tree is None:
            raise ConfigurationError(
                f"{step} asks about files, so the answer has to name their tree",
                hint="call inbox, look at the change, and pass the tree that it shows",
            )

"""Podium as an agent of an editor: a prompt starts a workflow, and the run is shown until it ends or needs a person.

Rule 1: only this package speaks the protocol to editors; its next version changes how a prompt ends.
Rule 2: an answer counts only with --may-answer, since a program can be an editor as well. Otherwise questions are shown.
Rule 3: a run goes on without the editor: a process of its own drives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from acp.core import run_agent
from acp.exceptions import RequestError
from acp.helpers import update_agent_message_text, update_available_commands
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    TextContentBlock,
    UnstructuredCommandInput,
)

from podium import __version__
from podium.app.assistant.files import list_workflows
from podium.app.assistant.start import resume_for_assistant, send_for_assistant
from podium.app.decide.sender import Speaker, speaker_by
from podium.app.paths import project_root
from podium.app.project import Project
from podium.app.query.runs import ENDED
from podium.core.messages import Cancel, Pause
from podium.core.types import Millis
from podium.errors import PodiumError
from podium.frontends.editor.follow import Follower
from podium.frontends.editor.prompts import start_by_prompt
from podium.frontends.editor.sessions import Session, load_session, new_session, save_session
from podium.frontends.project_access import Access
from podium.views.format import iso

T = TypeVar("T")
PROTOCOL: Final = 1
RUNS_LISTED: Final = 50


async def serve_editor(file: Path | None, *, may_answer: bool) -> None:
    """Serve the editor on standard input and output until it closes them."""
    agent = EditorAgent(speaker_by("editor"), file=file, may_answer=may_answer)
    # The protocol asks for no more than the capabilities that `initialize` names; the library's class has all methods.
    await run_agent(cast("Agent", agent), use_unstable_protocol=True)


class EditorAgent:
    """One connection to an editor, with any number of sessions."""

    def __init__(self, speaker: Speaker, *, file: Path | None, may_answer: bool) -> None:
        self._speaker = speaker
        self._file = file
        self._may_answer = may_answer
        self._sessions: dict[str, Session] = {}
        self._client: Client | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    @property
    def client(self) -> Client:
        assert self._client is not None, "no method is called before the connection"
        return self._client

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL,
            agent_capabilities=AgentCapabilities(
                load_session=True, session_capabilities=SessionCapabilities(list=SessionListCapabilities())
            ),
            agent_info=Implementation(name="podium", title="Podium", version=__version__),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = new_session(project_root(Path(cwd)))
        self._sessions[session.id] = session
        self._later(self._offer_workflows(session))
        return NewSessionResponse(session_id=session.id)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        session = _or_fault(lambda: load_session(project_root(Path(cwd)), session_id))
        assert session.run is not None
        await self._call(session, lambda project: project.run(session.run))
        self._sessions[session.id] = session
        await self._follower(session).replay()
        self._later(self._offer_workflows(session))
        return LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        session = new_session(project_root(Path(cwd or Path.cwd())))
        views, _more = await self._call(session, lambda project: project.queries.runs(RUNS_LISTED))
        listed = [
            SessionInfo(
                session_id=view.run,
                cwd=str(session.root),
                title=f"{view.workflow}: {view.status}",
                updated_at=None if view.started is None else iso(Millis(view.started)),
            )
            for view in views
        ]
        return ListSessionsResponse(sessions=listed)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        session = self._session(session_id)
        session.cancels = 0
        text = "\n".join(block.text for block in prompt if isinstance(block, TextContentBlock)).strip()
        follower = self._follower(session)
        if session.run is None or await self._has_ended(session):
            started = await self._start(session, text)
            if started is None:
                return PromptResponse(stop_reason="end_turn")
        else:
            await self._continue(session, follower, text)
        await follower.follow()
        return PromptResponse(stop_reason="cancelled" if session.cancels else "end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """The first time the run is paused; the second time it is cancelled."""
        session = self._session(session_id)
        if session.run is None:
            return
        session.cancels += 1
        name = self._speaker.name
        command = Pause(name) if session.cancels == 1 else Cancel(name, "stopped in the editor")
        await self._say(
            session,
            "Pausing: what works now still finishes. Stop again to cancel the run.\n"
            if session.cancels == 1
            else "Cancelling.\n",
        )
        run, continues = session.run, session.cancels > 1
        await self._call(
            session,
            lambda project: send_for_assistant(project, run, command, self._speaker, continues=continues),
        )

    async def _start(self, session: Session, text: str) -> str | None:
        """Start the workflow that a prompt names; None if it names none, after saying which there are."""
        file, speaker = self._file, self._speaker
        started = await self._call(
            session, lambda project: start_by_prompt(project, text, speaker=speaker, file=file)
        )
        await self._say(session, started.words)
        if started.run is None:
            return None
        session.run = started.run
        save_session(session)
        return started.run

    async def _continue(self, session: Session, follower: Follower, text: str) -> None:
        """Give a text to a question that takes one, or continue a paused run."""
        if await follower.answer_text(text):
            return
        run, speaker = session.run, self._speaker
        assert run is not None
        view = await self._call(session, lambda project: project.queries.show(project.run(run).run))
        if view.status in ("paused", "interrupted"):
            await self._call(session, lambda project: resume_for_assistant(project, run, speaker))
            await self._say(session, f"Run {run} continues.\n")

    async def _has_ended(self, session: Session) -> bool:
        head = await self._call(session, lambda project: project.run(session.run))
        return head.status in ENDED

    async def _offer_workflows(self, session: Session) -> None:
        """The slash commands of the session."""
        workflows = await self._access(session).read(lambda project: list(list_workflows(project)))
        commands = [
            AvailableCommand(
                name=Path(each["path"]).stem,
                description=each.get("description") or each["path"],
                input=AvailableCommandInput(UnstructuredCommandInput(hint="the task")),
            )
            for each in workflows
            if not each["mistakes"]
        ]
        await self.client.session_update(session_id=session.id, update=update_available_commands(commands))

    def _later(self, work: Any) -> None:
        """After the reply to this request, because an editor knows a session only from then on."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say(self, session: Session, text: str) -> None:
        await self.client.session_update(session_id=session.id, update=update_agent_message_text(text))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            raise RequestError.invalid_params({"message": f"session {name} is not open"})
        return self._sessions[name]

    def _follower(self, session: Session) -> Follower:
        return Follower(self._access(session), session, self.client)

    def _access(self, session: Session) -> Access:
        return Access(session.root, self._speaker, self._may_answer, make_fault=_fault)

    async def _call(self, session: Session, use: Callable[[Project], T]) -> T:
        return await self._access(session).change(use)


def _or_fault(call: Callable[[], T]) -> T:
    try:
        return call()
    except PodiumError as error:
        raise _fault(error) from error


def _fault(error: PodiumError) -> RequestError:
    hint = f" ({error.hint})" if error.hint else ""
    return RequestError(-32603, f"{error.message}{hint}", {"code": error.code})

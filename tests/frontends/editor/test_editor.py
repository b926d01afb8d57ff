"""`podium acp` as the client of the protocol's library sees it: start, plan, changes, permission, cancel, load."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import pytest
from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.helpers import text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    RequestPermissionResponse,
)

from podium.core.events import ApprovalGiven
from podium.core.hash_chain import RunId
from podium.runtime.records import event_of
from podium.views.evidence.decisions import channel_of
from tests.engine.kit import HEAD, TEAM, Project
from tests.frontends.test_running import ASK, call

T = TypeVar("T")
pytestmark = [pytest.mark.slow]
DEADLINE_S = 120.0
PAINT = "  paint: {agent: w, prompt: 'Paint {{ inputs.task }}', touches: ['*.txt']}\n"
CAST = '- {match: {step: paint}, write: {shed.txt: "blue\\n"}}\n'


class Editor:
    """A client that writes down what it is shown, and presses one button in every dialog."""

    def __init__(self, button: str | None = None) -> None:
        self.button = button
        self.updates: list[Any] = []
        self.asked_for: list[tuple[str, list[str]]] = []
        self._changed = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when an update has made it true."""
        while not holds():
            await self._changed.wait()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> RequestPermissionResponse:
        self.asked_for.append((tool_call.title, [option.option_id for option in options]))
        outcome = (
            DeniedOutcome(outcome="cancelled")
            if self.button is None
            else AllowedOutcome(outcome="selected", option_id=self.button)
        )
        return RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    @property
    def text(self) -> str:
        return "".join(
            each.content.text for each in self.updates if each.session_update == "agent_message_chunk"
        )

    @property
    def plans(self) -> list[list[tuple[str, str]]]:
        return [
            [(entry.content, entry.status) for entry in each.entries]
            for each in self.updates
            if each.session_update == "plan"
        ]

    @property
    def edits(self) -> list[Any]:
        return [each for each in self.updates if each.session_update == "tool_call"]

    @property
    def commands(self) -> list[str]:
        offers = [each for each in self.updates if each.session_update == "available_commands_update"]
        return [command.name for command in offers[-1].available_commands] if offers else []


@asynccontextmanager
async def connected(project: Project, editor: Editor, *args: str) -> AsyncIterator[tuple[Any, str]]:
    """The real command, and a session in the project."""
    arguments = ("-m", "podium", "acp", *args)
    async with spawn_agent_process(
        editor,  # type: ignore[arg-type]  # a client without files and terminals
        sys.executable,
        *arguments,
        cwd=str(project.root),
        env=dict(os.environ),
        transport_kwargs={"limit": 1 << 24, "stderr": None},
    ) as (agent, _process):
        with anyio.fail_after(DEADLINE_S):
            hello = await agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(),
                client_info=Implementation(name="test", version="1"),
            )
            assert hello.agent_capabilities is not None
            assert hello.agent_capabilities.load_session
            session = await agent.new_session(cwd=str(project.root), mcp_servers=[])
            yield agent, session.session_id


def play(project: Project, editor: Editor, use: Callable[[Any, str], Awaitable[T]], *args: str) -> T:
    async def run() -> T:
        async with connected(project, editor, *args) as (agent, session):
            return await use(agent, session)

    return anyio.run(run)


def prompt(*texts: str) -> Callable[[Any, str], Awaitable[list[str]]]:
    """The prompts of one session one after the other, and why each turn ended."""

    async def use(agent: Any, session: str) -> list[str]:
        return [
            (await agent.prompt(session_id=session, prompt=[text_block(text)])).stop_reason for text in texts
        ]

    return use


def decisions(project: Project) -> list[tuple[str, str]]:
    run = RunId(project.store.heads()[0].run)
    records = [(event_of(each), each.cause) for each in project.facade.queries.events(run)]
    return [(event.action, channel_of(cause)) for event, cause in records if isinstance(event, ApprovalGiven)]


def test_a_prompt_starts_the_only_workflow_and_shows_its_plan_and_changes(project: Project) -> None:
    project.flow(PAINT, head=TEAM + "inputs: {task: string}\n", cast=CAST)
    editor = Editor()

    assert play(project, editor, prompt("the shed")) == ["end_turn"]

    assert editor.plans[-1] == [("paint", "completed")]
    (edit,) = editor.edits
    assert (edit.kind, edit.status) == ("edit", "completed")
    assert (edit.content[0].path, edit.content[0].old_text, edit.content[0].new_text) == (
        str(project.root / "shed.txt"),
        None,
        "blue\n",
    )
    assert "paint passed" in editor.text
    view = project.view(RunId(project.store.heads()[0].run))
    assert (view.status, dict(view.inputs)) == ("passed", {"task": "the shed"})


def test_a_question_is_only_shown_unless_a_person_has_allowed_answers(project: Project) -> None:
    project.flow(ASK)
    editor = Editor("approve")

    assert play(project, editor, prompt("go")) == ["end_turn"]

    assert editor.asked_for == []
    assert "ask asks" in editor.text
    assert "podium approve" in editor.text
    assert decisions(project) == []


@pytest.mark.parametrize(
    ("button", "status", "action"),
    [("approve", "passed", "approve"), ("reject", "rejected", "reject"), ("abort", "rejected", "abort")],
)
def test_an_approval_is_the_permission_dialog_of_the_editor(
    project: Project, button: str, status: str, action: str
) -> None:
    project.flow(ASK)
    editor = Editor(button)

    play(project, editor, prompt("go"), "--may-answer")

    ((title, options),) = editor.asked_for
    assert "Land it?" in title
    assert "[tree " in title
    assert options == ["approve", "reject", "abort"]
    assert decisions(project) == [(action, "editor")]
    assert project.view(RunId(project.store.heads()[0].run)).status == status


def test_a_dialog_that_is_closed_answers_nothing(project: Project) -> None:
    project.flow(ASK)
    editor = Editor(None)

    play(project, editor, prompt("go"), "--may-answer")

    assert len(editor.asked_for) == 1
    assert decisions(project) == []
    assert "podium approve" in editor.text


def test_a_text_answers_a_question_for_a_value(project: Project) -> None:
    project.flow('  ask: {human: "Which colour?", output: text}\n')
    editor = Editor()

    play(project, editor, prompt("go", "blue"), "--may-answer")

    assert decisions(project) == [("answer", "editor")]
    assert project.view(RunId(project.store.heads()[0].run)).status == "passed"


def test_the_stop_button_pauses_a_run_and_a_second_time_cancels_it(project: Project) -> None:
    project.flow("  a: {run: [sleep, '300'], timeout: 5m}\n")
    editor = Editor()

    async def use(agent: Any, session: str) -> str:
        reasons: list[str] = []

        async def ask() -> None:
            reasons.append((await agent.prompt(session_id=session, prompt=[text_block("go")])).stop_reason)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await editor.until(lambda: [("a", "in_progress")] in editor.plans)
            await agent.cancel(session_id=session)
            await editor.until(lambda: "Pausing" in editor.text)
            await agent.cancel(session_id=session)
        return reasons[0]

    assert play(project, editor, use) == "cancelled"
    assert project.view(RunId(project.store.heads()[0].run)).status == "cancelled"


def test_an_older_session_is_loaded_with_what_has_happened_in_it(project: Project) -> None:
    project.flow(ASK)

    async def use(agent: Any, session: str) -> str:
        await agent.prompt(session_id=session, prompt=[text_block("go")])
        return session

    session = play(project, Editor(), use)
    run = project.store.heads()[0].run
    editor = Editor()

    async def load(agent: Any, _: str) -> list[str]:
        await agent.load_session(cwd=str(project.root), session_id=session, mcp_servers=[])
        await agent.load_session(cwd=str(project.root), session_id=run, mcp_servers=[])
        listed = await agent.list_sessions(cwd=str(project.root))
        return [each.session_id for each in listed.sessions]

    assert play(project, editor, load) == [run]
    assert editor.plans == [[("ask", "in_progress"), ("done", "pending")]] * 2
    assert editor.text.count("Land it?") == 2


def test_workflows_are_slash_commands_and_a_prompt_that_names_none_lists_them(project: Project) -> None:
    for name in ("one", "two"):
        project.write(f"{name}.yaml", HEAD + f"steps:\n  {name}: {{run: [echo, hi]}}\n")
    project.commit()
    editor = Editor()

    play(project, editor, prompt("go", "/three", "/two"))

    assert sorted(editor.commands) == ["one", "two"]
    assert editor.text.count("- /one") == 2
    assert 'There is no workflow "three"' in editor.text
    assert editor.plans[-1] == [("two", "completed")]


def test_the_command_says_what_it_is_for() -> None:
    assert "by the Agent Client Protocol" in " ".join(call("acp", "--help").stdout.split())

"""Which calls of tools a person has to approve, and what the program is told."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.abc
import pytest

from podium.attempt.step_tools.approval_desk import ApprovalDesk
from podium.attempt.step_tools.approvals import CallApprover
from podium.attempt.step_tools.server import serve_tools
from podium.attempt.step_tools.tools import JOURNAL, Permission, StepFacts, StepTools, ToolFault
from podium.core.events import AttemptStarted, ToolAsked
from podium.core.payloads import Amounts, ToolCall, ToolDecision
from podium.core.step_settings import ToolApproval
from podium.core.types import Address, Millis

ASKS = {"run": ("Bash",), "edit": ("Edit", "Write"), "read": ("Read",)}
STARTED = AttemptStarted(Millis(0), Address("ship"), 1, Amounts())


def approver(
    *patterns: str, decided: Iterable[ToolDecision] = (), answers: bool | None = None, wait_ms: int = 50
) -> CallApprover:
    """With `answers`, somebody decides as soon as a call is held."""
    desk = ApprovalDesk()
    if answers is not None:

        def decide(event: ToolAsked) -> None:
            desk.decide(event.path, ToolDecision(event.call, answers, "ann", "because"))

        desk.report = decide
    attempt = SimpleNamespace(
        step=SimpleNamespace(settings=SimpleNamespace(approve=ToolApproval(patterns, wait_ms))),
        work=SimpleNamespace(decisions=tuple(decided)),
        exchange=SimpleNamespace(request=SimpleNamespace(root=Path("/tree"), cwd=Path("/tree"))),
        host=SimpleNamespace(
            mask=SimpleNamespace(text=lambda text: text.replace("s3cret", "***")), approvals=desk
        ),
        activity=SimpleNamespace(report=lambda _: None),
        started=STARTED,
    )
    return CallApprover(cast("Any", attempt), ASKS)


@pytest.mark.parametrize(
    ("pattern", "tool", "arguments", "needs"),
    [
        ("run", "Bash", {"command": "ls"}, True),
        ("run(git push*)", "Bash", {"command": "git push origin main"}, True),
        ("run(git push*)", "Bash", {"command": "git   push\n origin"}, True),
        ("run(git push*)", "Bash", {"command": "git status"}, False),
        ("run(git push*)", "Write", {"file_path": "git push"}, False),
        ("edit(migrations/**)", "Edit", {"file_path": "/tree/migrations/a/b.sql"}, True),
        ("edit(migrations/**)", "Write", {"file_path": "/tree/src/a.py"}, False),
        ("read", "Read", {"file_path": "/tree/a"}, True),
        ("mcp__jira__*", "mcp__jira__close", {"issue": 7}, True),
        ("web", "Bash", {"command": "curl"}, False),
    ],
)
def test_a_pattern_names_calls(pattern: str, tool: str, arguments: dict[str, Any], needs: bool) -> None:
    asking = approver(pattern)
    assert asking.needs_person(asking.call_of(tool, arguments)) is needs


def test_a_call_is_the_whole_call_without_secrets_descriptions_and_the_folder_of_the_attempt() -> None:
    asking = approver("run")
    assert asking.call_of(
        "Bash", {"command": "echo s3cret", "description": "says it", "timeout": 5}
    ) == ToolCall("run", "echo ***")
    edit = {"file_path": "/tree/a.py", "old_string": "1", "new_string": "in /tree/b"}
    assert asking.call_of("Edit", edit) == ToolCall(
        "edit", "a.py", '{"new_string": "in ./b", "old_string": "1"}'
    )


def asked(asking: CallApprover, command: str) -> Any:
    return anyio.run(asking.ask, "Bash", {"command": command})


def test_what_no_pattern_names_is_allowed_at_once() -> None:
    assert asked(approver("run(git push*)"), "ls").is_allowed


@pytest.mark.parametrize("answers", [True, False])
def test_a_held_call_goes_on_with_the_decision_and_the_same_call_is_not_asked_about_again(
    answers: bool,
) -> None:
    asking = approver("run", answers=answers, wait_ms=60_000)
    first = asked(asking, "git push")
    assert first.is_allowed is answers and not first.ends_attempt
    assert answers or first.why == "Not approved by ann: because"
    asking._attempt.host.approvals.report = lambda event: pytest.fail(str(event))
    assert asked(asking, "git push").is_allowed is answers


def test_a_decision_of_an_earlier_attempt_holds_for_exactly_this_call() -> None:
    asking = approver("run", decided=[ToolDecision(ToolCall("run", "git push"), True, "ann")])
    assert asked(asking, "git push").is_allowed
    other = asked(asking, "git push --force")
    assert not other.is_allowed and other.ends_attempt


def test_after_a_call_that_nobody_decided_about_no_other_is_held() -> None:
    asking = approver("run", answers=None)
    assert [asked(asking, command).ends_attempt for command in ("a", "b")] == [True, True]
    assert [call.subject for call in asking.undecided] == ["a", "b"]


def test_a_call_that_nobody_could_read_is_refused() -> None:
    refused = asked(approver("run", answers=True), "x" * 30_000)
    assert not refused.is_allowed and "make it shorter" in refused.why


def test_refused_calls_are_in_the_journal_and_there_are_no_other_tools(tmp_path: Path) -> None:
    tools = StepTools(StepFacts({}), tmp_path / JOURNAL, mask=str, on_progress=lambda _: None)
    tools.has_words, tools.approver = False, approver("run", answers=False, wait_ms=60_000)
    assert list(tools.offered()) == ["approve"]
    answer = json.loads(anyio.run(tools.approve, {"tool_name": "Bash", "input": {"command": "git push"}}))
    assert answer == {"behavior": "deny", "message": "Not approved by ann: because", "interrupt": False}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (("approve", {"input": {}}), ("ask", {}))
    for name, arguments in calls:
        with pytest.raises(ToolFault):
            anyio.run(tools.approve, arguments) if name == "approve" else tools.call(name, arguments)
    assert [json.loads(line)["tool"] for line in (tmp_path / JOURNAL).read_text().splitlines()] == [
        "approve",
        "approve",
        "ask",
    ]


class Deciding:
    """Somebody who takes a tenth of a second."""

    def __init__(self) -> None:
        self.undecided: list[ToolCall] = []

    async def ask(self, _tool: str, _arguments: Mapping[str, Any]) -> Permission:
        await anyio.sleep(0.1)
        return Permission(True)


def test_the_connection_of_a_held_call_is_kept_busy_until_it_is_decided(tmp_path: Path) -> None:
    """Programs give up on an answer that says nothing for five minutes."""
    tools = StepTools(StepFacts({}), tmp_path / JOURNAL, mask=str, on_progress=lambda _: None)
    tools.approver = Deciding()
    arguments = {"tool_name": "Bash", "input": {"command": "ls"}}
    message = {"id": 1, "method": "tools/call", "params": {"name": "approve", "arguments": arguments}}

    async def post() -> http.client.HTTPResponse:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(anyio.abc.SocketAttribute.local_port)

            async def attend(stream: anyio.abc.ByteStream) -> None:
                async with stream:
                    await serve_tools(stream, tools, pulse_s=0.01)

            async with anyio.create_task_group() as group:
                group.start_soon(listener.serve, attend)
                answer = await anyio.to_thread.run_sync(ask, port)
                group.cancel_scope.cancel()
        return answer

    def ask(port: int) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"Bearer {tools.token}"}
        connection.request("POST", "/mcp", json.dumps(message).encode(), headers)
        answer = connection.getresponse()
        bodies.append(answer.read())
        return answer

    bodies: list[bytes] = []
    answer = anyio.run(post)
    assert answer.getheader("Transfer-Encoding") == "chunked"
    assert bodies[0].startswith(b"\n")
    assert '"behavior": "allow"' in json.loads(bodies[0])["result"]["content"][0]["text"]

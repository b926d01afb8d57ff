"""The tools of a step over HTTP: who may call, what is answered, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.attempt.step_tools.server import serve_tools
from podium.attempt.step_tools.tools import ASKED, StepFacts, StepTools, ToolFault

FACTS = StepFacts({"step": "deliver"}, True, ("qa", "architect"), ("engineer",), ("report.md",))


def make_tools(folder: Path, facts: StepFacts = FACTS) -> tuple[StepTools, list[str]]:
    shown: list[str] = []
    return StepTools(facts, folder / "tools.jsonl", mask=lambda text: text, on_progress=shown.append), shown


def send(tools: StepTools, body: Any, **changes: str) -> tuple[int, Any]:
    """The status and the answer of one request."""
    data = json.dumps(body).encode()
    fields = {
        "Host": "127.0.0.1:8083",
        "Authorization": f"Bearer {tools.token}",
        "Content-Length": str(len(data)),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    request = (
        f"{changes.get('method', 'POST')} {changes.get('path', '/mcp')} HTTP/1.1\r\n{head}\r\n".encode()
        + data
    )
    return anyio.run(_exchange, tools, request)


async def _exchange(tools: StepTools, request: bytes) -> tuple[int, Any]:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:

            async def attend(stream: anyio.abc.ByteStream) -> None:
                async with stream:
                    await serve_tools(stream, tools)

            group.start_soon(listener.serve, attend)
            async with await anyio.connect_tcp("127.0.0.1", port) as client:
                await client.send(request)
                answer = b""
                with anyio.fail_after(30):
                    try:
                        while True:
                            answer += await client.receive()
                    except anyio.EndOfStream:
                        pass
            group.cancel_scope.cancel()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


def rpc(method: str, **params: Any) -> Mapping[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_client_finds_six_tools_and_none_that_decides(tmp_path: Path) -> None:
    tools, _ = make_tools(tmp_path)
    status, answer = send(tools, rpc("initialize", protocolVersion="2025-06-18", capabilities={}))
    assert (status, answer["result"]["protocolVersion"]) == (200, "2025-06-18")
    assert send(tools, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
    _, answer = send(tools, rpc("tools/list"))
    names = [tool["name"] for tool in answer["result"]["tools"]]
    assert names == ["step", "ask", "note", "progress", "blocked", "artifact"]
    assert send(tools, rpc("ping"))[1]["result"] == {}
    assert send(tools, rpc("sampling/createMessage"))[1]["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
        ({"Host": "example.com"}, 421),
        ({"Origin": "https://example.com"}, 403),
        ({"path": "/other"}, 404),
        ({"Content_Length": str(1024 * 1024)}, 413),
    ],
)
def test_a_request_of_somebody_else_is_refused(tmp_path: Path, changes: dict[str, str], status: int) -> None:
    tools, _ = make_tools(tmp_path)
    changes = {name.replace("_", "-"): value for name, value in changes.items()}
    assert send(tools, rpc("ping"), **changes)[0] == status
    assert not (tmp_path / "tools.jsonl").exists()


def test_an_ask_is_recorded_once_and_an_unknown_name_comes_back_with_the_names(tmp_path: Path) -> None:
    tools, _ = make_tools(tmp_path)
    call = rpc("tools/call", name="ask", arguments={"to": "qa", "question": "Is it fine?"})
    for _ in range(2):
        result = send(tools, call)[1]["result"]
        assert (result["isError"], result["content"][0]["text"]) == (False, ASKED)
    assert len(tools.asks) == 1
    wrong = rpc("tools/call", name="ask", arguments={"to": "nobody", "question": "Hello?"})
    result = send(tools, wrong)[1]["result"]
    assert result["isError"]
    assert "you may ask qa, architect" in result["content"][0]["text"]
    journal = [json.loads(line) for line in (tmp_path / "tools.jsonl").read_text().splitlines()]
    assert ["refused" in entry for entry in journal] == [False, False, True]


def test_who_waits_for_an_answer_cannot_be_asked(tmp_path: Path) -> None:
    tools, _ = make_tools(tmp_path)
    with pytest.raises(ToolFault, match="engineer waits for you"):
        tools.call("ask", {"to": "engineer", "question": "What?"})


def test_calls_of_a_lost_process_are_set_aside(tmp_path: Path) -> None:
    tools, _ = make_tools(tmp_path)
    tools.call("note", {"text": "first"})
    again, _ = make_tools(tmp_path)
    assert not again.notes
    assert (tmp_path / "tools.lost1.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "fault"),
    [
        ("approve", {}, 'there is no tool "approve"'),
        ("ask", {"to": "qa"}, "needs the argument question"),
        ("ask", {"to": "qa", "question": "x" * 9_000}, "at most 8000"),
        ("ask", {"to": "qa", "question": "x", "files": "a"}, "list of paths"),
        ("note", {"text": "x", "to": "stranger"}, "in your team"),
        ("artifact", {"path": "../x"}, "x"),
        ("artifact", {"path": "other.md"}, "report.md"),
        ("blocked", {"why": ""}, "what is in the way"),
        ("step", {"run": "other"}, "has no argument run"),
    ],
)
def test_a_wrong_call_says_what_is_possible(
    tmp_path: Path, name: str, arguments: dict[str, Any], fault: str
) -> None:
    tools, _ = make_tools(tmp_path)
    with pytest.raises(ToolFault, match=fault):
        tools.call(name, arguments)


def test_progress_is_shown_at_most_once_per_second(tmp_path: Path) -> None:
    tools, shown = make_tools(tmp_path)
    for number in range(5):
        tools.call("progress", {"text": f"step {number}", "percent": 10})
    assert shown[0] == "step 0 (10%)"
    assert len(shown) < 5
    assert not (tmp_path / "tools.jsonl").exists()


def test_at_most_five_questions_and_twenty_notes(tmp_path: Path) -> None:
    tools, _ = make_tools(tmp_path)
    for number in range(5):
        tools.call("ask", {"to": "qa", "question": f"question {number}"})
    with pytest.raises(ToolFault, match="end your turn"):
        tools.call("ask", {"to": "qa", "question": "one more"})
    for number in range(20):
        tools.call("note", {"text": f"note {number}"})
    with pytest.raises(ToolFault, match="20 notes"):
        tools.call("note", {"text": "one more"})

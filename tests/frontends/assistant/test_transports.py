"""The real `podium mcp`, over pipes and over HTTP: a run from its start to its question, and who is kept out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from podium.core.hash_chain import RunId
from podium.frontends.mcp.guard import Guard
from podium.views.evidence.decisions import channel_of
from tests.engine.kit import HEAD, Project
from tests.frontends.assistant.kit import command, data_in, text_of
from tests.frontends.test_running import ASK, call, code

WAIT = {"timeout_s": 60}


@pytest.mark.slow
@pytest.mark.req("R232")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25"])
def test_a_client_in_any_language_starts_a_run_and_follows_it_to_its_question(
    project: Project, version: str
) -> None:
    project.flow(ASK)
    with command(project.root) as server:
        assert server.hello(version)["result"]["protocolVersion"] == version
        started = server.ask("tools/call", {"name": "start_run", "arguments": {"workflow": "flow.yaml"}})
        waited = server.ask("tools/call", {"name": "wait_for_run", "arguments": WAIT})
        approved = server.ask("tools/call", {"name": "answer", "arguments": {"run": "latest"}})

    first = project.facade.queries.events(RunId(project.store.heads()[0].run))[0]
    assert (first.type, channel_of(first.cause)) == ("RunStarted", "mcp")
    assert "has started: at most 0 agent calls" in started["result"]["content"][0]["text"]
    assert data_in(waited["result"]["content"][0]["text"])["status"] == "parked"
    assert "Unknown tool: answer" in json.dumps(approved)
    assert server.process.returncode == 0


@pytest.mark.slow
def test_what_is_no_message_is_answered_with_an_error_and_the_next_one_is_heard(project: Project) -> None:
    with command(project.root) as server:
        server.hello()
        assert server.process.stdin is not None
        server.process.stdin.write("Hello?\n")
        reply = server.ask("tools/call", {"name": "list_runs", "arguments": {}})

    assert data_in(reply["result"]["content"][0]["text"])["runs"] == []


@pytest.mark.slow
@pytest.mark.req("R232")
def test_the_client_of_the_library_works_over_pipes_with_progress(project: Project) -> None:
    project.flow("  a: {run: [sleep, '4'], timeout: 60s}\n")

    async def use() -> tuple[str, list[str | None]]:
        heard: list[str | None] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            heard.append(message)

        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "podium", "mcp"],
            cwd=project.root,
            env=dict(os.environ),
        )
        async with Client(stdio_client(server)) as client:
            await client.call_tool("start_run", {"workflow": "flow.yaml"})
            done = await client.call_tool("wait_for_run", dict(WAIT), progress_callback=on_progress)
            return text_of(done), heard

    text, heard = anyio.run(use)

    assert data_in(text)["status"] == "passed"
    assert any("a: running" in (message or "") for message in heard), heard


@contextmanager
def served(root: Path) -> Iterator[tuple[str, str]]:
    """`podium mcp --http 0`: its address and its key."""
    process = subprocess.Popen(
        (sys.executable, "-m", "podium", "mcp", "--http", "0"),
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().removeprefix("url: ").strip()
        key = process.stdout.readline().rpartition(" ")[2].strip()
        yield url, key
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


@pytest.mark.slow
@pytest.mark.req("R232")
def test_a_client_over_http_needs_the_key_and_our_name_for_the_server(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    async def use(url: str, key: str) -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return text_of(await client.call_tool("show_run", {}))

    with served(project.root) as (url, key):
        text = anyio.run(use, url, key)
        refusals = [
            httpx2.post(url, json={}, headers=headers, timeout=60).status_code
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Bearer {key}", "Origin": "https://example.org"},
                {"Authorization": f"Bearer {key}", "Host": "example.org"},
                {"Authorization": f"Bearer {key}", "Host": "127.0.0.1"},
            )
        ]

    assert data_in(text)["status"] == "parked"
    assert refusals == [401, 401, 403, 421, 421]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"host", b"127.0.0.1:80"), (b"authorization", b"Bearer k")], 200),
        ([(b"host", b"LOCALHOST:80"), (b"authorization", b"bearer k")], 200),
        (
            [
                (b"host", b"localhost:80"),
                (b"origin", b"http://localhost:80"),
                (b"authorization", b"Bearer k"),
            ],
            200,
        ),
        ([(b"authorization", b"Bearer k")], 421),
        ([(b"host", b"localhost:80"), (b"host", b"localhost:80"), (b"authorization", b"Bearer k")], 421),
        ([(b"host", b"localhost:81"), (b"authorization", b"Bearer k")], 421),
        ([(b"host", b"localhost:80"), (b"origin", b"null"), (b"authorization", b"Bearer k")], 403),
        ([(b"host", b"localhost:80"), (b"authorization", b"Basic k")], 401),
        ([(b"host", b"localhost:80"), (b"authorization", b"Bearer ")], 401),
        ([(b"host", b"localhost:80"), (b"cookie", b"key=k")], 401),
    ],
)
def test_the_guard_lets_in_only_our_name_no_other_page_and_the_key(
    headers: list[tuple[bytes, bytes]], status: int
) -> None:
    sent: list[Mapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    guard = Guard(app, key="k", port=80)
    anyio.run(guard, {"type": "http", "headers": headers, "query_string": b"key=k"}, receive, send)

    assert sent[0]["status"] == status


@pytest.mark.parametrize(
    ("client", "part"),
    [
        ("claude", '"alwaysLoad": true'),
        ("codex", "[mcp_servers.podium]"),
        ("gemini", '"mcpServers"'),
        ("zed", '"context_servers"'),
    ],
)
def test_the_entry_for_each_client_is_printed(project: Project, client: str, part: str) -> None:
    done = call("mcp", "--print-config", client)

    assert code(done) == 0
    assert part in done.stdout
    assert "may-answer" not in done.stdout
    assert "--may-answer" in call("mcp", "--print-config", client, "--may-answer").stdout


@pytest.mark.slow
def test_the_server_of_one_project_reads_no_files_of_another(project: Project) -> None:
    other = Project(project.root.parent / "other")
    other.write("flow.yaml", HEAD + "steps:\n  a: {run: [echo, hi]}\n")
    (project.root / "link.yaml").symlink_to(other.root / "flow.yaml")
    with command(project.root) as server:
        server.hello()
        replies = [
            json.dumps(server.ask("tools/call", {"name": "validate", "arguments": {"path": path}}))
            for path in ("../other/flow.yaml", str(other.root / "flow.yaml"), "link.yaml")
        ]
    other.facade.close()

    assert all('"isError": true' in reply for reply in replies), replies

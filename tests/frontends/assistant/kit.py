"""An assistant that talks to the server of a project, in memory or through the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp.client import Client
from mcp_types import CallToolResult, TextContent

from podium.app.decide.sender import Speaker
from podium.frontends.mcp.server import make_server
from podium.frontends.project_access import Access

T = TypeVar("T")
BY = Speaker("ann", "mcp")


def talk(root: Path, use: Callable[[Client], Awaitable[T]], *, may_answer: bool = False) -> T:
    """What a client of the SDK finds out about the server of this project."""

    async def run() -> T:
        async with Client(make_server(Access(root, BY, may_answer))) as client:
            return await use(client)

    return anyio.run(run)


def ask(root: Path, tool: str, *, may_answer: bool = False, **arguments: Any) -> tuple[str, bool]:
    """The text of a tool's result, and whether it is an error."""

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    result = talk(root, use, may_answer=may_answer)
    return text_of(result), bool(result.is_error)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def data_in(text: str) -> Any:
    """The JSON between the markers of a result."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("-----BEGIN material"))
    last = next(number for number, line in enumerate(lines) if line.startswith("-----END material"))
    return json.loads("\n".join(lines[first + 1 : last]))


class Server:
    """The real command on pipes, spoken to in plain JSON as a client in any language does."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._number = 0

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The whole reply to a request; notifications before it are left out."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params or {}})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            reply = json.loads(line)
            if reply.get("id") == self._number:
                return reply
        raise AssertionError("the server has ended")

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def hello(self, version: str = "2025-11-25") -> Any:
        client = {"name": "test", "version": "1"}
        reply = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})
        return reply


@contextmanager
def command(root: Path, *args: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`podium mcp` in a folder; it ends when its input is closed."""
    process = subprocess.Popen(
        (sys.executable, "-m", "podium", "mcp", *args),
        cwd=root,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Server(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

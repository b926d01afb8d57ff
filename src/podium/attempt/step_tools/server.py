"""Serves the tools of one attempt as an MCP server: streamable HTTP without sessions, JSON answers, one request at a time.

Four methods by hand instead of the SDK: importing that takes two seconds and 55 MB for each attempt.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.attempt.step_tools.tools import APPROVE, StepTools, ToolFault
from podium.egress.request_head import Head, HungUp, Refused, body_length, read_head
from podium.files import bounded_json

PATH: Final = "/mcp"
REFUSED_PATH: Final = "/refused"
"""Where the `podium` program inside a step says what it was asked to do and refused."""
VERSIONS: Final = ("2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05")
"""Versions of the protocol that these four methods are the same in; the first is offered to a client with another one."""
MOST_BODY: Final = 256 * 1024
BODY_S: Final = 30.0
INSTRUCTIONS: Final = "Tools of this step of a Podium run. After `ask` or `blocked`, end your turn: nothing is answered while it lasts."
PULSE_S: Final = 20.0
_HEAD_OF_CHUNKS: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
LOCAL: Final = frozenset({"127.0.0.1", "localhost"})


async def serve_tools(stream: ByteStream, tools: StepTools, *, pulse_s: float = PULSE_S) -> None:
    """Handle one connection."""
    reader = BufferedByteReceiveStream(stream)
    try:
        head = await read_head(reader)
        body = await _body(head, reader, tools)
    except HungUp:
        return
    except Refused as refused:
        await stream.send(_response(refused.status, {"error": refused.reason}))
        return
    pulse = _Pulse(stream)
    async with anyio.create_task_group() as group:
        group.start_soon(pulse.beat, pulse_s)
        status, answer = await _answer(head, body, tools)
        group.cancel_scope.cancel()
    await stream.send(pulse.rest(answer) if pulse.has_begun else _response(status, answer))


class _Pulse:
    """Keeps a connection busy while a person decides: programs give up on an answer that says nothing for five minutes.

    The answer is then sent in chunks, with line ends before the JSON.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.has_begun = False

    async def beat(self, every_s: float) -> None:
        # The caller may hang up.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            while True:
                await anyio.sleep(every_s)
                head = b"" if self.has_begun else _HEAD_OF_CHUNKS
                self.has_begun = True
                with anyio.CancelScope(shield=True):
                    await self._stream.send(head + _chunk(b"\n"))

    def rest(self, answer: Any) -> bytes:
        return _chunk(json.dumps(answer).encode()) + _chunk(b"")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode("ascii") + data + b"\r\n"


async def _body(head: Head, reader: BufferedByteReceiveStream, tools: StepTools) -> bytes:
    _check(head, tools)
    length = body_length(head)
    if length > MOST_BODY:
        raise Refused(413, f"the request has more than {MOST_BODY} bytes")
    try:
        with anyio.fail_after(BODY_S):
            return await reader.receive_exactly(length) if length else b""
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, TimeoutError) as error:
        raise HungUp from error


def _check(head: Head, tools: StepTools) -> None:
    host = urlsplit(f"//{(head.values('host') or ('',))[0]}").hostname
    if host not in LOCAL:
        raise Refused(421, "this server has another name")
    if any(urlsplit(origin).hostname not in LOCAL for origin in head.values("origin")):
        raise Refused(403, "requests of web pages are not served")
    token = (head.values("authorization") or ("",))[0].removeprefix("Bearer ")
    if not hmac.compare_digest(token.encode(), tools.token.encode()):
        raise Refused(401, "the token is not that of this attempt")
    if head.target.partition("?")[0] not in (PATH, REFUSED_PATH):
        raise Refused(404, f"only {PATH} is served")
    if head.method != "POST":
        raise Refused(405, "only POST is supported: this server sends nothing by itself")


async def _answer(head: Head, body: bytes, tools: StepTools) -> tuple[int, Any]:
    try:
        message = bounded_json.loads(body)
    except ValueError:
        return 400, _error(None, -32700, "the body is not JSON")
    if not isinstance(message, Mapping):
        return 400, _error(None, -32600, "the body must be one JSON-RPC message")
    if head.target.startswith(REFUSED_PATH):
        tools.refuse(str(message.get("command", "")))
        return 202, None
    if "id" not in message:
        return 202, None
    return 200, await _result(message, tools)


async def _result(message: Mapping[str, Any], tools: StepTools) -> Mapping[str, Any]:
    number, method, params = message["id"], message.get("method"), message.get("params")
    params = params if isinstance(params, Mapping) else {}
    match method:
        case "initialize":
            wants = params.get("protocolVersion")
            result: dict[str, Any] = {
                "protocolVersion": wants if wants in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "podium", "version": "1"},
                "instructions": INSTRUCTIONS,
            }
        case "ping":
            result = {}
        case "tools/list":
            result = {
                "tools": [
                    {"name": name, "description": about, "inputSchema": schema}
                    for name, (about, schema) in tools.offered().items()
                ]
            }
        case "tools/call":
            result = await _call(params, tools)
        case _:
            return _error(number, -32601, f"{method} is not supported")
    return {"jsonrpc": "2.0", "id": number, "result": result}


async def _call(params: Mapping[str, Any], tools: StepTools) -> dict[str, Any]:
    name, arguments = str(params.get("name")), params.get("arguments")
    try:
        values = arguments if isinstance(arguments, Mapping) else {}
        is_asked = name == APPROVE and tools.approver is not None
        text = await tools.approve(values) if is_asked else tools.call(name, values)
        failed = False
    except ToolFault as fault:
        text, failed = str(fault), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _error(number: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def _response(status: int, answer: Any) -> bytes:
    body = b"" if answer is None else json.dumps(answer).encode()
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(("WWW-Authenticate: Bearer",) if status == 401 else ()),
        *(("Allow: POST",) if status == 405 else ()),
        "Connection: close",
        "",
        "",
    )
    return "\r\n".join(lines).encode("ascii") + body

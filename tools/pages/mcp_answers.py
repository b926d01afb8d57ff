"""The answers that `podium mcp` gives before its real server is imported, recorded from that server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client._memory import InMemoryTransport
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from podium.app.decide.sender import Speaker
from podium.frontends.mcp.front import LISTS
from podium.frontends.mcp.server import make_server
from podium.frontends.project_access import Access

CLIENT: Final = {"name": "recorder", "version": "1"}
HELLO: Final = "initialize"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def page() -> str:
    answers = {
        name: recorded_answers(may_answer=may_answer)
        for name, may_answer in (("asking", False), ("answering", True))
    }
    return json.dumps(answers, indent=1, ensure_ascii=False) + "\n"


def recorded_answers(*, may_answer: bool) -> dict[str, Any]:
    methods = sorted(LISTS)
    legacy = [
        _ask(may_answer, [(HELLO, _hello(version)), *((method, {}) for method in methods)])
        for version in HANDSHAKE_PROTOCOL_VERSIONS
    ]
    for version, answers in zip(HANDSHAKE_PROTOCOL_VERSIONS, legacy, strict=True):
        if answers[HELLO].pop("protocolVersion") != version or answers != legacy[0]:
            raise ValueError(
                f"the answers in protocol {version} differ from those in {HANDSHAKE_PROTOCOL_VERSIONS[0]}"
            )
    modern = [(method, {"_meta": META}) for method in ("server/discover", *methods)]
    return {
        "legacy_versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "modern_version": LATEST_MODERN_VERSION,
        "legacy": legacy[0],
        "modern": _ask(may_answer, modern),
    }


def _hello(version: str) -> Mapping[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}


def _ask(may_answer: bool, requests: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    server = make_server(Access(Path("/"), Speaker("recorder", "mcp"), may_answer))

    async def ask() -> dict[str, Any]:
        answers = {}
        async with InMemoryTransport(server) as (replies, sink):
            for number, (method, params) in enumerate(requests):
                request = types.JSONRPCRequest(
                    jsonrpc="2.0", id=number, method=method, params=dict(params) or None
                )
                await sink.send(SessionMessage(request))
                reply = await replies.receive()
                assert isinstance(reply, SessionMessage), reply
                assert isinstance(reply.message, types.JSONRPCResponse), reply.message
                answers[method] = reply.message.result
        return answers

    return anyio.run(ask)

"""The broker sends nothing that a vendor would run, fetch or look up, unless the workflow names it (issue 16, A10)."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from typing import Any, Final

import anyio
import pytest

from podium.egress.broker import MOST_BODY
from podium.egress.request_body import MOST_TOKENS
from podium.ports.agent_type import SERVER_TOOLS
from tests.egress.kit import api, post, service, status, way

OWN: Final[dict[str, Any]] = {"name": "Read", "description": "reads", "input_schema": {"type": "object"}}
FUNCTION: Final[dict[str, Any]] = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
DECLARED: Final[dict[str, Any]] = {"functionDeclarations": [{"name": "read_file"}]}


def tool(entry: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [], "tools": [OWN, entry]}


def content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, *blocks]}]}


REMOVED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "mcp servers": ("mcp", {"mcp_servers": [{"type": "url", "url": "https://evil.example", "name": "x"}]}),
    "mcp servers in camel case": ("mcp", {"mcpServers": [{"url": "https://evil.example"}]}),
    "an mcp toolset": ("mcp", tool({"type": "mcp_toolset", "mcp_server_name": "x"})),
    "mcp of responses": (
        "mcp",
        {"input": "hi", "tools": [{"type": "mcp", "server_url": "https://evil.example"}]},
    ),
    "a connector": ("mcp", {"tools": [{"type": "mcp", "connector_id": "connector_gmail"}]}),
    "web search": ("web_search", tool({"type": "web_search_20250305", "name": "web_search"})),
    "a later web search": ("web_search", tool({"type": "web_search_20991231", "name": "web_search"})),
    "web search of responses": ("web_search", {"tools": [FUNCTION, {"type": "web_search"}]}),
    "web search preview": ("web_search", {"tools": [{"type": "web_search_preview_2025_03_11"}]}),
    "web search of chats": ("web_search", {"messages": [], "web_search_options": {"user_location": {}}}),
    "plugins": ("web_search", {"messages": [], "plugins": [{"id": "web"}]}),
    "google search": ("web_search", {"contents": [], "tools": [DECLARED, {"googleSearch": {}}]}),
    "google search in snake case": ("web_search", {"tools": [{"google_search": {}}]}),
    "google search with functions": ("web_search", {"tools": [{**DECLARED, "googleSearch": {}}]}),
    "google search retrieval": ("web_search", {"tools": [{"googleSearchRetrieval": {}}]}),
    "google maps": ("web_search", {"tools": [{"googleMaps": {}}]}),
    "tools that are not a list": ("web_search", {"tools": {"googleSearch": {}}}),
    "web fetch": ("web_fetch", tool({"type": "web_fetch_20250910", "name": "web_fetch"})),
    "url context": ("web_fetch", {"tools": [{"urlContext": {}}]}),
    "code execution": (
        "code_execution",
        tool({"type": "code_execution_20250825", "name": "code_execution"}),
    ),
    "code execution of gemini": ("code_execution", {"tools": [{"codeExecution": {}}]}),
    "code interpreter": ("code_execution", {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}),
    "a container": ("code_execution", {"messages": [], "container": "container_011"}),
    "a hosted shell": (
        "code_execution",
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
    ),
    "file search": ("files", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
    "file search of gemini": ("files", {"tools": [{"fileSearch": {"fileSearchStoreNames": ["s"]}}]}),
    "data sources": ("files", {"messages": [], "data_sources": [{"type": "azure_search"}]}),
    "computer use": ("computer", tool({"type": "computer_20250124", "name": "computer"})),
    "computer use of gemini": ("computer", {"tools": [{"computerUse": {}}]}),
    "image generation": ("image_generation", {"tools": [FUNCTION, {"type": "image_generation"}]}),
    "a tool in a namespace": (
        "web_search",
        {"tools": [{"type": "namespace", "name": "n", "tools": [FUNCTION, {"type": "web_search"}]}]},
    ),
    "tools to count": ("web_search", {"generateContentRequest": {"tools": [{"googleSearch": {}}]}}),
}

REFUSED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "a file id": (
        "files",
        content({"type": "document", "source": {"type": "file", "file_id": "file_011"}}),
    ),
    "a file id in a tool result": (
        "files",
        content(
            {
                "type": "tool_result",
                "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}],
            }
        ),
    ),
    "a container upload": ("files", content({"type": "container_upload", "file_id": "file_011"})),
    "a file id of responses": (
        "files",
        {"input": [{"content": [{"type": "input_file", "file_id": "file-1"}]}]},
    ),
    "a file id of chats": ("files", content({"type": "file", "file": {"file_id": "file-1"}})),
    "a file of gemini": (
        "files",
        {"contents": [{"parts": [{"fileData": {"fileUri": "https://evil.example/?leak"}}]}]},
    ),
    "a file of gemini in snake case": (
        "files",
        {"contents": [{"parts": [{"file_data": {"file_uri": "files/abc"}}]}]},
    ),
    "a picture by address": (
        "web_fetch",
        content({"type": "image", "source": {"type": "url", "url": "https://evil.example/?leak"}}),
    ),
    "a document by address": (
        "web_fetch",
        content({"type": "document", "source": {"type": "url", "url": "http://evil.example"}}),
    ),
    "a picture of chats by address": (
        "web_fetch",
        content({"type": "image_url", "image_url": {"url": "https://evil.example/?leak"}}),
    ),
    "a picture of responses by address": (
        "web_fetch",
        {"input": [{"content": [{"type": "input_image", "image_url": "https://evil.example/?leak"}]}]},
    ),
    "a file by address": (
        "web_fetch",
        {"input": [{"content": [{"type": "input_file", "file_url": "https://evil.example/?leak"}]}]},
    ),
    "an earlier response": ("stored", {"input": "hi", "previous_response_id": "resp_1"}),
    "a stored conversation": ("stored", {"input": "hi", "conversation": {"id": "conv_1"}}),
    "a stored prompt": ("stored", {"prompt": {"id": "pmpt_1"}}),
    "a stored item": ("stored", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
    "stored content": ("stored", {"contents": [], "cachedContent": "cachedContents/1"}),
    "work in the background": ("stored", {"input": "hi", "background": True}),
    "a model that searches": ("web_search", {"model": "gpt-4o-search-preview", "messages": []}),
    "a model that is online": ("web_search", {"model": "vendor/model:online", "messages": []}),
    "a tool in the content": (
        "mcp",
        {"input": [{"type": "tool_search_output", "tools": [{"type": "mcp", "server_url": "x"}]}]},
    ),
}

PASSED: Final[dict[str, dict[str, Any]]] = {
    "own tools": {"tools": [OWN, FUNCTION, {"type": "custom", "name": "apply_patch"}, DECLARED]},
    "tools of a vendor that the program runs": {
        "tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728"}]
    },
    "a local shell": {
        "tools": [{"type": "local_shell"}, {"type": "shell", "environment": {"type": "local"}}]
    },
    "no connectors": {"mcp_servers": [], "container": None, "previous_response_id": None},
    "a picture as data": content({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}),
    "a long picture as data": content(
        {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    ),
    "a picture in base64": content({"type": "image", "source": {"type": "base64", "data": "AA=="}}),
    "an inline file": content({"type": "file", "file": {"file_data": "data:application/pdf;base64,AA"}}),
    "arguments with such names": content(
        {"type": "tool_use", "id": "1", "name": "mine", "input": {"file_id": "7", "tools": [{"type": "mcp"}]}}
    ),
    "a schema with such names": {
        "tools": [
            {
                "name": "x",
                "input_schema": {"properties": {"file_id": {}, "image_url": {"default": "http://a"}}},
            }
        ]
    },
    "arguments of gemini": {"contents": [{"parts": [{"functionCall": {"args": {"fileUri": "x"}}}]}]},
    "a citation": content({"type": "url_citation", "url": "https://docs.example"}),
    "text about it": content({"type": "text", "text": '{"mcp_servers": [1], "file_id": "x"}'}),
    "a prompt of text": {"prompt": "hi", "model": "research-online-1"},
}


async def _sent(value: Any, allowed: frozenset[str] = frozenset()) -> tuple[int, list[bytes], Any]:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    async with api() as model, way(service(model.port, server_tools=allowed)) as out:
        answer = await out.call(post(body=body))
    return status(answer), [heard.partition(b"\r\n\r\n")[2] for heard in model.heard], out.decisions[0]


@pytest.mark.parametrize("case", REMOVED)
def test_a_tool_of_the_vendor_is_taken_out_and_recorded(case: str) -> None:
    _, body = REMOVED[case]
    code, (heard,), decision = anyio.run(_sent, body)

    assert code == 200 and decision.allowed and decision.removed
    for word in ("evil", "mcp", "search", "code", "url", "computer", "container", "image_g", "maps", "web"):
        assert word not in heard.decode().lower().replace("tool_search", "")
    if "Read" in str(body):
        assert json.loads(heard)["tools"] == [OWN]
    for kept in (FUNCTION, DECLARED):
        if str(kept)[1:-1] in str(body):
            assert str(kept)[1:-1] in str(json.loads(heard))


@pytest.mark.parametrize("case", REFUSED)
def test_content_that_the_vendor_would_fetch_is_refused_with_the_way_to_allow_it(case: str) -> None:
    name, body = REFUSED[case]
    code, heard, decision = anyio.run(_sent, body)

    assert (code, heard) == (400, [])
    assert not decision.allowed and decision.reason.startswith("this request is not sent: ")
    assert name in decision.reason or "tool" in decision.reason


@pytest.mark.parametrize("case", [*REMOVED, *REFUSED])
def test_what_the_workflow_names_is_sent_unchanged(case: str) -> None:
    name, body = {**REMOVED, **REFUSED}[case]
    code, heard, decision = anyio.run(_sent, body, frozenset({name}))

    assert code == 200 and not decision.removed
    assert heard == [json.dumps(body).encode()]


@pytest.mark.parametrize("case", [*REMOVED, *REFUSED])
def test_naming_something_else_does_not_allow_it(case: str) -> None:
    name, body = {**REMOVED, **REFUSED}[case]
    _, heard, decision = anyio.run(_sent, body, frozenset(SERVER_TOOLS) - {name})

    assert not decision.allowed or decision.removed
    assert heard != [json.dumps(body).encode()]


@pytest.mark.parametrize("case", PASSED)
def test_what_the_program_runs_itself_is_sent_unchanged(case: str) -> None:
    body = json.dumps(PASSED[case]).encode()
    code, heard, decision = anyio.run(_sent, body)

    assert code == 200 and heard == [body] and not decision.removed


def test_an_unknown_kind_of_tool_is_taken_out_whatever_is_named() -> None:
    body = tool({"type": "teleport_20991231", "name": "teleport"})
    code, (heard,), decision = anyio.run(_sent, body, frozenset(SERVER_TOOLS))

    assert code == 200 and decision.removed == ("teleport_20991231",)
    assert json.loads(heard)["tools"] == [OWN]


def test_without_any_tool_left_no_choice_among_them_is_sent() -> None:
    body = {"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}, "model": "m"}
    _, (heard,), _ = anyio.run(_sent, body)

    assert json.loads(heard) == {"model": "m"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"tools": [], "tools": [{"type": "mcp"}]}',
        b'{"mcp_servers": [], "mcpServers": [{"url": "x"}]}',
        b'{"a": {"b": 1, "b": 2}}',
        b'\xef\xbb\xbf{"a": 1}',
        '{"mcp_servers": [1]}'.encode("utf-16"),
        b'{"a": NaN}',
        b"[1, 2]",
        b'"text"',
        b"a=b&c=d",
        b'{"a": 1} {"mcp_servers": [1]}',
        b'{"a": "\xff"}',
        b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a": [' + b"1," * (MOST_TOKENS + 1) + b"1]}",
        gzip.compress(b'{"mcp_servers": [1]}', mtime=0),
    ],
)
def test_a_body_that_could_be_read_in_two_ways_is_refused(body: bytes) -> None:
    code, heard, decision = anyio.run(_sent, body)

    assert (code, heard, decision.allowed) == (400, [], False)


def test_a_name_in_escapes_is_recognized() -> None:
    _, (heard,), decision = anyio.run(_sent, rb'{"m": 1, "mcp\u005fserve\u0072s": [{"url": "evil"}]}')

    assert decision.removed and json.loads(heard) == {"m": 1}


def test_a_compressed_body_is_refused() -> None:
    async def test() -> None:
        packed = gzip.compress(b'{"mcp_servers": [{"url": "https://evil.example"}]}')
        async with api() as model, way(service(model.port)) as out:
            answer = await out.call(post(body=packed, headers="Content-Encoding: gzip\r\n"))
        assert status(answer) == 415 and model.heard == []

    anyio.run(test)


def test_the_largest_body_is_checked_with_little_memory() -> None:
    from podium.egress.server_tools import inspect

    body = b'{"messages": [{"role": "user", "content": "\xf0\x9f\x98\x80' + b"a" * (MOST_BODY - 100) + b'"}]}'
    tracemalloc.start()
    assert inspect(body, frozenset()).body is body
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 10 << 20

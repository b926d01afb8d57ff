"""What the front answers before the real server is there, and what it leaves to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.frontends.mcp.front import ANSWERS, Front, read_answers
from tests.engine.kit import Project
from tests.frontends.assistant.kit import command
from tools.pages.mcp_answers import page

HELLO = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def front(*, initialized: bool = True) -> Front:
    made = Front(read_answers(may_answer=False))
    if initialized:
        made.answer(HELLO)
    return made


def test_the_recorded_answers_are_those_of_the_real_server() -> None:
    assert ANSWERS.read_text("utf-8") == page(), "run make docs"


def test_the_handshake_is_answered_in_the_version_of_the_client_and_passed_on() -> None:
    answer, is_passed_on = front(initialized=False).answer(HELLO)

    assert answer is not None
    assert (answer["id"], answer["result"]["protocolVersion"], is_passed_on) == (1, "2025-06-18", True)


@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
def test_a_list_is_answered_once_and_not_passed_on(method: str) -> None:
    answer, is_passed_on = front().answer({"id": 7, "method": method})

    assert answer is not None
    assert (answer["id"], len(answer["result"]), is_passed_on) == (7, 1, False)


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_a_client_without_a_handshake_is_answered_in_its_protocol(method: str) -> None:
    answer, is_passed_on = front(initialized=False).answer({"id": 7, "method": method, "params": MODERN})

    assert answer is not None
    assert (answer["result"]["resultType"], is_passed_on) == ("complete", False)


@pytest.mark.parametrize(
    "message",
    [
        {"id": 2, "method": "tools/list", "params": {"cursor": "x"}},
        {"id": 2, "method": "tools/call", "params": {"name": "list_runs"}},
        {
            "id": 2,
            "method": "tools/list",
            "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}},
        },
        {"method": "notifications/initialized"},
        {"id": 2, "result": {}},
        HELLO,
        [HELLO],
        None,
    ],
)
def test_everything_else_is_left_to_the_real_server(message: Any) -> None:
    assert front().answer(message) == (None, True)


@pytest.mark.parametrize("changed", [{"protocolVersion": "2031-01-01"}, {"clientInfo": None}])
def test_a_handshake_that_is_not_understood_is_left_to_the_real_server(changed: dict[str, Any]) -> None:
    message = {**HELLO, "params": {**HELLO["params"], **changed}}  # type: ignore[dict-item]

    assert front(initialized=False).answer(message) == (None, True)


def test_lists_before_the_handshake_are_left_to_the_real_server() -> None:
    assert front(initialized=False).answer({"id": 1, "method": "tools/list"}) == (None, True)


@pytest.mark.slow
def test_a_client_gets_its_answers_while_the_library_cannot_even_be_imported(
    project: Project, tmp_path: Path
) -> None:
    """The library takes seconds to import, and clients go on without a server that is late."""
    slow = tmp_path / "modules/mcp"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    started = tmp_path / "modules/sitecustomize.py"
    started.write_text(f"import sys; sys.path.insert(0, {str(slow.parent)!r})\n")
    with command(project.root, env={"PYTHONPATH": str(slow.parent)}) as server:
        version = server.hello()["result"]["protocolVersion"]
        tools = server.ask("tools/list")["result"]["tools"]
        server.process.kill()

    assert version == "2025-11-25"
    assert "start_run" in [tool["name"] for tool in tools]


def test_the_front_imports_nothing_that_takes_time() -> None:
    """It and the command in front of it decide how soon the first answer comes."""
    import subprocess

    code = (
        "import sys; import podium.frontends.mcp.stdio; print(sorted(m for m in sys.modules if '.' not in m))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    third_party = {
        "mcp",
        "mcp_types",
        "pydantic",
        "anyio",
        "starlette",
        "uvicorn",
        "httpx2",
        "click",
        "yaml",
        "jinja2",
    }

    assert third_party.isdisjoint(json.loads(done.stdout.replace("'", '"')))

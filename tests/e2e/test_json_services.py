"""Commands that run until they are stopped print JSON lines by the shipped schema with --json (issue 17, point 5)."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

FLOW = 'podium: 1\nname: flow\nsteps:\n  a: {run: ["true"]}\n'
POLLED = FLOW + "triggers:\n  polled: {command: {run: [echo, one]}, every: 1h, per_day: {runs: 9}}\n"
START_S = 60


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path / "place", {"flow.yaml": FLOW})) as made:
        yield made


def started(project: Project, did: str, *args: str) -> tuple[Any, dict[str, Any], Path]:
    """The process, its first line that says `did`, and the file with all its lines."""
    file = project.folder / "lines"
    with file.open("wb") as out:
        process = project.start(*args, "--json", stdout=out)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        for line in file.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n") and json.loads(line)["did"] == did:
                return process, json.loads(line), file
        assert process.poll() is None, (project.folder / "talk.log").read_text("utf-8")
        time.sleep(0.05)
    raise AssertionError(f"no line with {did}: {file.read_text('utf-8')}")


def stopped(process: Any, file: Path) -> list[dict[str, Any]]:
    process.send_signal(signal.SIGTERM)
    process.wait(START_S)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        conforms(line, "serve")
    return lines


def test_the_pages_print_their_address_and_their_end(project: Project) -> None:
    process, line, file = started(project, "pages", "ui", "--no-browser")
    again = project.podium("ui", "--url", "--json")

    conforms(again.data(), "serve")
    assert again.data()["url"] == line["url"]
    assert line["url"].startswith("http://127.0.0.1:")
    assert [each["did"] for each in stopped(process, file)] == ["pages", "ended"]


def test_a_service_with_pages_and_tools_prints_only_lines_of_the_schema(project: Project) -> None:
    process, _, file = started(project, "watching", "serve", "--web", "--mcp", "--no-triggers")

    lines = stopped(process, file)
    assert [each["did"] for each in lines] == ["pages", "mcp", "watching", "ended"]
    assert lines[1]["header"].startswith("Authorization: Bearer ")


def test_the_tools_of_an_assistant_print_address_and_header_that_work(project: Project) -> None:
    process, line, file = started(project, "mcp", "mcp", "--http", "0")
    name, _, value = line["header"].partition(": ")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    headers = {
        name: value,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    request = Request(line["url"], json.dumps(hello).encode(), headers)

    with urlopen(request, timeout=START_S) as reply:
        assert reply.status == 200

    assert len(stopped(process, file)) == 1


def test_the_triggers_are_one_document(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {"flow.yaml": POLLED})) as project:
        listed = project.podium("serve", "--list", "--json")
        polled = project.podium("serve", "--poll", "flow.yaml:polled", "--json")

    conforms(listed.data(), "triggers")
    conforms(polled.data(), "triggers")
    assert [each["name"] for each in listed.data()["triggers"]] == ["polled"]

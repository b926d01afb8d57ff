"""What an agent in the sandbox sends to its vendor and gets back, through the real command (issue 16, A10)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe as machine
from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = [pytest.mark.security, pytest.mark.timeout(300)]

KEY: Final = "dummy-key-4711-of-the-tests"
# It stands for a program that a model has taken over: it sends what it likes, and shows all that it gets.
AGENT: Final = """
import http.client, json, os, sys
sys.stdin.readline()
place = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
lines = [json.loads(line) for line in open("bodies.jsonl")]
got = []
for body in lines:
    line = http.client.HTTPConnection(place, timeout=60)
    line.request("POST", "/v1/messages", json.dumps(body), {"Content-Type": "application/json"})
    answer = line.getresponse()
    got.append([answer.status, dict(answer.headers), answer.read().decode("latin-1")])
open("src/got.json", "w").write(json.dumps(got))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "done",
                  "session_id": "s", "total_cost_usd": 0.01, "usage": {"input_tokens": 1, "output_tokens": 1}}))
"""
WORKFLOW: Final = """\
podium: 1
name: ways
agents: {claude: {command: [python3, agent.py], base_url: "URL"SETTINGS}}
steps:
  it: {agent: claude, prompt: hi, touches: ["src/**"]}
"""
BODIES: Final[tuple[dict[str, Any], ...]] = (
    {"model": "m", "messages": [], "mcp_servers": [{"type": "url", "url": "https://evil.example"}]},
    {"model": "m", "messages": [], "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    {
        "messages": [
            {"content": [{"type": "image", "source": {"type": "url", "url": "https://evil.example"}}]}
        ]
    },
    {"model": "plain", "messages": []},
)


class Vendor:
    """A server that repeats what it gets, the key as well."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                vendor.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                key = self.headers["x-api-key"]
                self.send_response(200)
                self.send_header("X-Echo", key)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in (f"you sent {key[:9]}", f"{key[9:]}; ", "", key.encode().hex()):
                    if piece:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece.encode()))
                        self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *args: Any) -> None:
                """Print nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    lacking = machine.probe()
    if lacking is not None:
        pytest.skip(f"{lacking.reason}; {lacking.fix}")
    made = Vendor()
    threading.Thread(target=made.http.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.http.shutdown()
    made.http.server_close()


def play(folder: Path, vendor: Vendor, settings: str = "") -> tuple[Ended, list[list[Any]], str]:
    """How the run ended, what the agent got, and everything that was written about it."""
    files = {
        "w.yaml": WORKFLOW.replace("URL", vendor.url).replace("SETTINGS", settings),
        "agent.py": AGENT,
        "bodies.jsonl": "".join(f"{json.dumps(body)}\n" for body in BODIES),
        "src/a.txt": "a\n",
    }
    with closing(new_project(folder, files, ANTHROPIC_API_KEY=KEY)) as project:
        done = project.podium("run", "w.yaml", "--yes")
        got = got_of(project)
        record = "".join(path.read_text() for path in project.root.glob(".podium/runs/*/**/egress.jsonl"))
    return done, got, record


def got_of(project: Project) -> list[list[Any]]:
    diff = project.podium("diff", project.run_id())
    line = next(line for line in diff.out.splitlines() if line.startswith("+[["))
    answers: list[list[Any]] = json.loads(line[1:])
    return answers


def test_server_tools_are_not_sent_and_the_key_does_not_come_back(tmp_path: Path, vendor: Vendor) -> None:
    done, got, record = play(tmp_path, vendor)

    assert done.code == 0, done.err
    assert vendor.bodies == [{"model": "m", "messages": []}] * 2 + [BODIES[3]]
    assert [status for status, _, _ in got] == [200, 200, 400, 200]
    assert "server_tools: [web_fetch]" in got[2][2]
    assert KEY not in str(got) and KEY.encode().hex() not in str(got)
    assert got[3][1]["X-Echo"] == "***" and got[3][2] == "you sent ***; ***"
    # A line is written when its call has ended, which may be after the next call has begun.
    removed = [json.loads(line).get("removed") for line in record.splitlines()]
    assert sorted(removed, key=str) == [None, None, ["mcp_servers"], ["web_search_20250305"]]


def test_a_workflow_can_name_them(tmp_path: Path, vendor: Vendor) -> None:
    done, got, _ = play(tmp_path, vendor, ", server_tools: [mcp, web_search, web_fetch]")

    assert done.code == 0, done.err
    assert vendor.bodies == list(BODIES)
    assert [status for status, _, _ in got] == [200] * 4


def test_an_unknown_name_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    text = WORKFLOW.replace("URL", "http://127.0.0.1:9").replace("SETTINGS", ", server_tools: [teleport]")
    with closing(new_project(tmp_path, {"w.yaml": text})) as project:
        done = project.podium("validate", "w.yaml")

    assert done.code != 0
    assert "server_tools" in done.err + done.out and "web_search" in done.err + done.out

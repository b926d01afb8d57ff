"""Whole steps in a sandbox: a command reaches only the hosts that it lists, and its requests are recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.sandboxes import bubblewrap_probe as machine
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.attempt.network import RECORD
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.process.launch import Finished
from podium.redaction.mask import Mask
from podium.testing.models.server import ModelServer
from tests.attempt.agent_attempts import Asked, Clock
from tests.attempt.runs import OneSandbox, Played, bench
from tests.git.kit import new_project
from tests.installed import agent

pytestmark = [pytest.mark.security, pytest.mark.timeout(300)]

PYTHON = str(Path(sys.executable).resolve())
ASK = """
import http.client, os, socket
try:
    place = os.environ["HTTPS_PROXY"].removeprefix("http://")
    line = http.client.HTTPConnection(place, timeout=60)
    line.set_tunnel("packages.example", 443)
    line.request("HEAD", "/?token=s3cret-of-the-house")
    print("answered", line.getresponse().status)
except (KeyError, OSError) as error:
    print("closed", type(error).__name__)
try:
    socket.create_connection(("198.51.100.7", 443), 3)
except OSError as error:
    print(error.errno)
"""


@pytest.fixture(autouse=True)
def working_sandbox() -> None:
    lacking = machine.probe()
    if lacking is not None:
        pytest.skip(f"{lacking.reason}; {lacking.fix}")


def leads_to(port: int) -> Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]:
    async def resolve(_host: str, _port: int) -> Sequence[tuple[str, int]]:
        return [("127.0.0.1", port)]

    return resolve


def play(folder: Path, flow: str, port: int = 1, **more: Any) -> tuple[Asked, Played]:
    project = new_project(folder / "project", {"ask.py": ASK})
    clock = Clock()
    made = bench(project, folder, flow, now=clock, mask=Mask({"TOKEN": "s3cret-of-the-house"}))
    made = made.given(sandboxes=OneSandbox(BubblewrapSandbox(leads_to(port))), **more)
    asked = Asked(made.workflow, made.host, made.root, clock=clock)
    return asked, asked.play()


def records(asked: Asked) -> list[Mapping[str, Any]]:
    found = asked.host.run_dir.rglob(RECORD)
    return [json.loads(line) for record in found for line in record.read_text().splitlines()]


@pytest.mark.req("R179", "C17")
@pytest.mark.parametrize(
    ("network", "said", "decided"),
    [
        ("", "closed KeyError", []),
        (", network: [packages.example]", "answered 200", [(True, "CONNECT packages.example:443")]),
        (", network: [other.example]", "closed OSError", [(False, "CONNECT packages.example:443")]),
    ],
)
def test_a_command_reaches_the_hosts_that_it_lists_and_no_others(
    tmp_path: Path, network: str, said: str, decided: list[tuple[bool, str]]
) -> None:
    with ModelServer() as server:
        flow = f"steps: {{it: {{run: [{PYTHON}, -I, ask.py]{network}}}}}"
        asked, played = play(tmp_path, flow, int(server.url.rpartition(":")[2]))

    assert played.ending("it").outcome == "passed", played.result("it")
    assert str(played.result("it")["output"]).splitlines() == [said, "101"]
    assert [(one["allowed"], one["what"]) for one in records(asked)] == decided
    assert len(server.requests) == len([one for one, _ in decided if one])


class Renewing:
    """An agent whose program finds its login in its home and leaves another one there."""

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, Renewing]:
        code = f"open('{request.home}/x/login.json', 'a').write(' renewed'); print(1)"
        files = {"x/login.json": b"the old one"}
        return ProgramSpec(argv=(PYTHON, "-I", "-c", code), files=files, login="x/login.json"), self

    def feed(self, data: bytes) -> tuple[()]:
        return ()

    def finish(self, finished: Finished) -> AgentResult:
        return AgentResult(text=finished.stderr.text() or "done")


def test_a_login_that_was_renewed_in_the_sandbox_is_copied_back(tmp_path: Path) -> None:
    kept: list[tuple[str, bytes]] = []
    agents = {"claude": agent("claude", Renewing())}
    flow = "agents: {claude: {}}\nsteps: {it: {agent: claude, prompt: hi, no_change: pass}}"

    play(tmp_path, flow, agents=agents, keep_login=lambda kind, content: kept.append((kind, content)))

    assert kept == [("claude", b"the old one renewed")]

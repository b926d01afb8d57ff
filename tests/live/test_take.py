"""The real claude, opened by `podium take` at a terminal in tmux, against the model server (issue 17, point 7)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.sandboxes.bubblewrap_probe import probe
from podium.testing.models.server import ModelRequest, ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project
from tests.e2e.tmux import Tmux, in_tmux
from tests.live.kit import CLAUDE, KEY
from tests.live.programs import found

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux"),
    pytest.mark.skipif(probe() is not None, reason="bubblewrap does not work here"),
]
FLOW = """\
podium: 1
name: paint
agents: {{claude: {{command: {program}, base_url: "{url}"}}}}
steps:
  implement:
    agent: claude
    prompt: Paint shed 7391
    touches: ["src/**"]
    retry: {{attempts: 1, on_exhausted: fail}}
    gates: [{{run: [test, -f, src/good.py]}}]
  land: {{git: {{land: main, message: Paint}}}}
"""
FINISH = "Please finish it"


def is_typed(request: ModelRequest) -> bool:
    """Whether the person has written; the program adds messages of its own after that."""
    return FINISH.encode() in request.received.raw


def is_written(request: ModelRequest) -> bool:
    return is_typed(request) and b"good = True" in request.received.raw.partition(FINISH.encode())[2]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    bad = Rule(match="Paint shed", tools=[CLAUDE.writes("src/bad.py", "bad = True")], text="Painted badly")
    good = Rule(match=is_typed, tools=[CLAUDE.writes("src/good.py", "good = True")])
    with ModelServer(Rule(match=is_written, text="All is well"), good, bad) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Iterator[Project]:
    flow = FLOW.format(program=found("claude"), url=server.url)
    files = {"flow.yaml": flow, "src/app.py": "x = 1\n"}
    with closing(new_project(tmp_path / "place", files, ANTHROPIC_API_KEY=KEY)) as made:
        yield made


def type_line(tmux: Tmux, text: str) -> None:
    """Typed at once, text and Enter look like a paste to the program."""
    tmux.run("send-keys", "-l", text)
    tmux.wait_for(text)
    tmux.run("send-keys", "Enter")


def test_work_done_in_the_real_program_is_judged_priced_and_lands(
    project: Project, server: ModelServer
) -> None:
    failed = project.podium("run", "flow.yaml", "--yes", "--json")
    assert failed.code == 1, failed.err
    before = len(server.requests_to(CLAUDE.calls))

    with in_tmux(project, "take", failed.data()["run"], "implement", columns=120, rows=50) as tmux:
        opened = tmux.wait_for("accept edits on")
        type_line(tmux, FINISH)
        tmux.wait_for("All is well")
        type_line(tmux, "/exit")
        tmux.wait_for("land committed")

    assert "Painted badly" in opened  # the conversation of the failed attempt
    view: dict[str, Any] = project.podium("show", "@1", "--json").data()
    step = next(each for each in view["steps"] if each["path"] == "implement")
    assert (view["status"], step["by"], step["output"]) == ("passed", "ann", "All is well")
    assert project.git("show", "main:src/good.py") == "good = True"
    calls = server.requests_to(CLAUDE.calls)[before:]
    # Two calls of 100 and 20 tokens each, and no other: the broker and the conversation agree.
    assert (len(calls), step["usage"]["tokens"]) == (2, 240)
    assert step["cost_usd"] == pytest.approx(2 * (100 * 2 + 20 * 10) / 1e6, rel=0.6)
    assert all(re.fullmatch(r"\*\*\*" + KEY[-4:], call.headers["x-api-key"]) for call in calls)
    assert KEY not in "".join(path.read_text("utf-8", "replace") for path in records(project))


def records(project: Project) -> list[Path]:
    return [path for path in (project.root / ".podium/runs").rglob("*") if path.is_file()]

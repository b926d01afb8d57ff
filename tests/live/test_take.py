"""The real programs, opened by `podium take` at a terminal in tmux, against the model server (issue 17, point 7)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.sandboxes.bubblewrap_probe import probe
from podium.testing.models.server import ModelRequest, ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.tmux import Tmux, in_tmux
from tests.live.kit import CLAUDE, CODEX, GEMINI, KEY, Program
from tests.live.programs import found

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux"),
    pytest.mark.skipif(probe() is not None, reason="bubblewrap does not work here"),
]
FLOW = """\
podium: 1
name: paint
agents: {{{name}: {{command: {program}, base_url: "{url}"{settings}}}}}
steps:
  implement:
    agent: {name}
    prompt: Paint shed 7391
    touches: ["src/**"]
    retry: {{attempts: 1, on_exhausted: fail}}
    gates: [{{run: [test, -f, src/good.py]}}]
  land: {{git: {{land: main, message: Paint}}}}
"""
FINISH = "Please finish it"
TRIES = 8
LISTENS_S = 5.0


def is_typed(request: ModelRequest) -> bool:
    """Whether the person has written; the program adds messages of its own after that."""
    return FINISH.encode() in request.received.raw


def is_written(request: ModelRequest) -> bool:
    return is_typed(request) and b"good = True" in request.received.raw.partition(FINISH.encode())[2]


@dataclass(frozen=True, slots=True)
class AtTerminal:
    program: Program
    ready: str
    """What its screen shows when it waits for the person."""
    leave: str
    first: str = ""
    """A question that it asks before; Enter answers it."""
    is_priced: bool = True
    """Whether its conversation shows all calls of the model."""


PROGRAMS = (
    AtTerminal(CLAUDE, "accept edits on", "/exit"),
    # It trusts no folder, and says so. For a title it calls the model without recording it.
    AtTerminal(CODEX, "Ask Codex to do anything", "/quit", first="Open restricted", is_priced=False),
    AtTerminal(GEMINI, "Type your message", "/quit"),
)


@pytest.fixture(params=PROGRAMS, ids=lambda each: each.program.name)
def opened(request: pytest.FixtureRequest) -> AtTerminal:
    at_terminal: AtTerminal = request.param
    return at_terminal


@pytest.fixture
def server(opened: AtTerminal) -> Iterator[ModelServer]:
    writes = opened.program.writes
    bad = Rule(match="Paint shed", tools=[writes("src/bad.py", "bad = True")], text="Painted badly")
    good = Rule(match=is_typed, tools=[writes("src/good.py", "good = True")])
    with ModelServer(Rule(match=is_written, text="All is well"), good, bad) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path, server: ModelServer, opened: AtTerminal) -> Iterator[Project]:
    used = opened.program
    values = {"name": used.name, "settings": used.settings, "url": f"{server.url}{used.path}"}
    files = {"flow.yaml": FLOW.format(program=found(used.name), **values), "src/app.py": "x = 1\n"}
    with closing(new_project(tmp_path / "place", files)) as made:
        made.env[used.key] = KEY
        yield made


def press(tmux: Tmux, *keys: str, shows: str) -> None:
    """Press keys until the screen shows their effect: a program may not listen yet when its screen is drawn."""

    def look() -> bool | None:
        return shows in tmux.screen() or None

    for _ in range(TRIES):
        tmux.run("send-keys", *keys)
        with suppress(AssertionError):
            until(look, shows, within_s=LISTENS_S)
            return
        tmux.run("send-keys", "C-u")
    raise AssertionError(f"no effect of {keys}:\n{tmux.screen()}")


def type_line(tmux: Tmux, text: str) -> None:
    """Typed at once, text and Enter look like a paste to the program."""
    press(tmux, "-l", text, shows=text)
    tmux.run("send-keys", "Enter")


def test_work_done_in_the_real_program_is_judged_priced_and_lands(
    project: Project, server: ModelServer, opened: AtTerminal
) -> None:
    failed = project.podium("run", "flow.yaml", "--yes", "--json")
    assert failed.code == 1, failed.err
    before = len(server.requests_to(opened.program.calls))

    with in_tmux(project, "take", failed.data()["run"], "implement", columns=120, rows=60) as tmux:
        if opened.first:
            tmux.wait_for(opened.first)
            press(tmux, "Enter", shows=opened.ready)
        tmux.wait_for(opened.ready)
        tmux.wait_for("Painted badly")  # the conversation of the failed attempt
        type_line(tmux, FINISH)
        tmux.wait_for("All is well")
        type_line(tmux, opened.leave)
        tmux.wait_for("land committed")

    view: dict[str, Any] = project.podium("show", "@1", "--json").data()
    step = next(each for each in view["steps"] if each["path"] == "implement")
    assert (view["status"], step["by"], step["output"]) == ("passed", "ann", "All is well")
    assert project.git("show", "main:src/good.py") == "good = True"
    calls = server.requests_to(opened.program.calls)[before:]
    # Two calls of 100 and 20 tokens each; if the broker has seen others, the cost is unknown.
    assert step["usage"]["tokens"] == 240
    assert (len(calls) == 2, step["cost_usd"] is not None) == (opened.is_priced, opened.is_priced)
    assert KEY not in "".join(path.read_text("utf-8", "replace") for path in records(project))


def records(project: Project) -> list[Path]:
    return [path for path in (project.root / ".podium/runs").rglob("*") if path.is_file()]

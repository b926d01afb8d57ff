"""`podium guide` reaches the real claude while it works, in bubblewrap, against the model server (issue 17, point 7)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from podium.adapters.sandboxes.bubblewrap_probe import probe
from podium.core.hash_chain import RunId
from podium.testing.models.server import ModelRequest, ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project, until_exit
from tests.live.kit import CLAUDE, CODEX, KEY, Program
from tests.live.programs import found

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(probe() is not None, reason="bubblewrap does not work here"),
]
FLOW = """\
podium: 1
name: paint
agents: {{{name}: {{command: {program}, base_url: "{url}"}}}}
steps:
  implement:
    agent: {name}
    prompt: Paint shed 7391
    touches: ["src/**"]
    retry: {{attempts: 2, on_exhausted: fail}}
    gates: [{{run: [test, -f, src/good.py]}}]
"""
TEXT = "Write the file good.py, not bad.py"
PATIENCE_S = 60


@dataclass(slots=True)
class Model:
    """Waits with its first answer until it may speak, and writes the right file once it has read the guidance."""

    called: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def waits(self, _: ModelRequest) -> bool:
        self.called.set()
        return self.may_answer.wait(PATIENCE_S)


@pytest.fixture
def model() -> Model:
    return Model()


def is_guided(request: ModelRequest) -> bool:
    return TEXT.encode() in request.received.raw


def rules_of(program: Program, model: Model) -> list[Rule]:
    good = program.writes("src/good.py", "good = True")
    return [
        Rule(match=is_guided, tools=[program.runs("true"), good], text="All is well"),
        Rule(match=model.waits, tools=[program.runs("true")], text="Painted badly"),
    ]


@pytest.fixture
def server(model: Model) -> Iterator[ModelServer]:
    with ModelServer(*rules_of(CLAUDE, model)) as made:
        yield made


def paint(folder: Path, program: Program, url: str) -> Project:
    flow = FLOW.format(name=program.name, program=found(program.name), url=f"{url}{program.path}")
    made = new_project(folder, {"flow.yaml": flow, "src/app.py": "x = 1\n"})
    made.env[program.key] = KEY
    return made


def start_and_guide(project: Project, model: Model) -> tuple[RunId, str]:
    """The run, and what `guide` said while the model had not answered yet."""
    child = project.start("run", "flow.yaml")
    assert model.called.wait(PATIENCE_S), project.talk()
    run = project.run_id()
    reply = project.podium("guide", run, TEXT, "--by", "ada").err
    model.may_answer.set()
    until_exit(child)
    return run, reply


@pytest.mark.req("R198")
def test_claude_gets_guidance_in_the_middle_of_its_turn_and_follows_it(
    tmp_path: Path, server: ModelServer, model: Model
) -> None:
    with closing(paint(tmp_path, CLAUDE, server.url)) as project:
        run, reply = start_and_guide(project, model)

        assert "implement gets this guidance with the next call of its model" in reply
        view = project.podium("show", run, "--json").data()
        step = next(step for step in view["steps"] if step["path"] == "implement")
        assert (view["status"], step["attempts"]) == ("passed", 1), project.talk()
        assert step["guidance"] == [{"attempt": 1, "text": TEXT, "by": "ada", "refused": ""}]
        assert f'guided by ada: "{TEXT}"' in project.podium("show", run).out
        assert f'has got guidance from ada: "{TEXT}"' in project.podium("logs", "-f", run, "implement").out
    bodies = [request.raw for request in server.requests if TEXT.encode() in request.raw]
    assert bodies and all(body.count(TEXT.encode()) == 1 for body in bodies)


def test_codex_refuses_guidance_in_the_middle_and_its_next_attempt_gets_it(
    tmp_path: Path, model: Model
) -> None:
    with (
        ModelServer(*rules_of(CODEX, model)) as server,
        closing(paint(tmp_path, CODEX, server.url)) as project,
    ):
        run, reply = start_and_guide(project, model)

        assert "implement does not get this guidance: codex takes no messages while it works" in reply
        view = project.podium("show", run, "--json").data()
        step = next(step for step in view["steps"] if step["path"] == "implement")
        assert (view["status"], step["attempts"]) == ("passed", 2), project.talk()
        assert [(one["attempt"], bool(one["refused"])) for one in step["guidance"]] == [(1, True), (2, False)]

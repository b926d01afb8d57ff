"""Walks over queues, graphs and called workflows visit what they should, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.decide.admission import LOOK_AHEAD
from podium.core.events import JoinAsked
from podium.core.model import Agent
from podium.core.policy import Estimate, Limits
from podium.core.types import Address, MicroUsd
from podium.workflow.test_gates.listing import list_suites
from podium.workflow.test_gates.runners import direct_runner
from tests.core.kit import Game, agent, flow
from tests.workflow.compiling import compile_text

CALLED = """\
podium: 1
name: inner
steps:
  test: {run: [python, -m, pytest, -q]}
"""
WRITER = """\
podium: 1
name: writer
agents: {worker: {type: scripted}}
steps:
  write: {agent: worker, prompt: Write., touches: "${{ glob('*.txt') }}"}
"""


@pytest.mark.parametrize(("waiting", "starts"), [(LOOK_AHEAD - 1, True), (LOOK_AHEAD, False)])
def test_only_the_front_of_a_long_queue_is_looked_at(waiting: int, *, starts: bool) -> None:
    """All but the last wait for the answer to one question about the price of their agent."""
    estimate = Estimate(MicroUsd(1), 10)
    unpriced = [
        agent(f"w{n}", touches=(), verb=Agent(agent="mine", estimate=estimate)) for n in range(waiting)
    ]
    priced = agent("p", touches=(), verb=Agent(agent="other", estimate=estimate))
    width = {"parallel": waiting + 1}
    run = flow(
        *unpriced,
        priced,
        kind="par",
        block_keys=width,
        limits=Limits(usd=MicroUsd(1_000)),
        max_parallel=waiting + 1,
    )
    game = Game(run, facts={"unpriced": ("mine",)})

    assert game.open_questions() == ["w0#0/!price:mine"]
    assert game.in_flight() == (["p"] if starts else [])


def test_a_child_of_a_graph_is_merged_after_all_it_builds_on() -> None:
    names = ("alone", "root", "left", "right", "top")
    needs = {"left": (1,), "right": (1,), "top": (2, 3)}
    steps = [agent(name, touches=(f"{name}/**",), needs=needs.get(name, ())) for name in names]
    game = Game(flow(*steps, kind="dag"))
    for name in names[:-1]:
        game.end_with_change(name)
    game.end_join("top")
    game.end_with_change("top")

    asked = game.events(JoinAsked)[-1]
    assert (asked.path, asked.onto) == ("", "alone#1")
    assert [path for path, _ in asked.members] == ["root", "left", "right", "top"]


def test_a_called_workflow_whose_files_depend_on_the_project_claims_everything(tmp_path: Path) -> None:
    text = "steps:\n  all:\n    parallel: 2\n    steps:\n      a: {workflow: inner.yaml}\n      b: {workflow: inner.yaml}\n"
    game = Game(compile_text(tmp_path, text, files={"inner.yaml": WRITER}))

    assert game.at("all/a").place.claim == ("**",)
    assert Address("all/b") not in game.state.instances, "it waits for the files of the first"


def test_so_does_one_whose_parameters_depend_on_the_project(tmp_path: Path) -> None:
    inner = WRITER.replace(
        "steps:", "roles: {writer: {agent: worker, with: {files: ['*.txt']}, prompt: Write.}}\nsteps:"
    ).replace(
        """write: {agent: worker, prompt: Write., touches: "${{ glob('*.txt') }}"}""",
        """write: {role: writer, with: {files: "${{ glob('*.txt') }}"}, touches: "${{ with.files }}"}""",
    )
    text = "steps:\n  all:\n    parallel: 2\n    steps:\n      a: {workflow: inner.yaml}\n      b: {workflow: inner.yaml}\n"
    game = Game(compile_text(tmp_path, text, files={"inner.yaml": inner}))

    assert game.at("all/a").place.claim == ("**",)


def test_suites_of_called_workflows_are_listed(tmp_path: Path) -> None:
    text = "steps:\n  child: {workflow: inner.yaml}\n"
    workflow = compile_text(tmp_path, text, files={"inner.yaml": CALLED})

    assert [suite.path for suite in list_suites(workflow)] == ["child/test"]


def test_a_command_that_starts_a_runner_itself_is_recognised() -> None:
    assert direct_runner(("python", "-m", "pytest")) == "pytest"
    assert direct_runner(("make", "all")) is None

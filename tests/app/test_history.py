"""What earlier runs tell about the next one, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import open_workflow
from podium.app.forecast.plan import plan
from podium.app.run.cost_history import Use, fitting, history_for, history_of, read_history, usual_of
from podium.app.run.preflight import agent_steps
from podium.core.addresses import ROOT, without_numbers
from podium.core.events import AttemptEnded, AttemptStarted, RunStarted
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.model import Agent, Workflow
from podium.core.payloads import Amounts, TypicalUse
from podium.core.state import Leaf, State
from podium.core.types import Address, MicroUsd, Millis
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from tests.engine.kit import TEAM, Project

STEP = "  a: {agent: w, prompt: x, touches: [], estimate: {usd: 0.2, tokens: 1k}}\n"


def cast(usd: float, tokens: int = 40) -> str:
    return f"- {{match: {{step: a}}, cost_usd: {usd}, usage: {{input: {tokens}, output: 0}}}}\n"


def call(path: str, *, usd: int = 0, tokens: int = 0, **rest: Any) -> AttemptEnded:
    told = {"kind": "ok", "result": {"agent": "w"}, **rest}
    return AttemptEnded(Millis(9), Address(path), 1, used=Amounts(MicroUsd(usd), tokens, calls=1), **told)


def reserves(project: Project, run: RunId) -> list[Amounts]:
    return [event.reserve for event in project.events(run) if isinstance(event, AttemptStarted)]


def written(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


@pytest.mark.req("X2", "X1")
def test_a_run_reserves_what_earlier_runs_of_the_workflow_have_used_at_most(tmp_path: Path) -> None:
    """And `podium plan` takes the same for the most; the first run has only what is declared."""
    project = Project(tmp_path)
    file = project.flow(STEP, head=TEAM, cast=cast(0.3, 50))
    first, _ = project.run(file)
    project.write("cast.yaml", cast(0.1, 70))
    second, _ = project.run(file)
    third, state = project.run(file)

    assert reserves(project, first) == [Amounts(MicroUsd(200_000), 1_000, 1)]
    assert reserves(project, second) == [Amounts(MicroUsd(300_000), 50, 1)]
    assert reserves(project, third) == [Amounts(MicroUsd(300_000), 70, 1)]
    workflow = open_workflow(file)
    replayed = fold(workflow, project.events(third))
    assert dict(replayed.ledgers.items()) == dict(state.ledgers.items())
    before = read_history(project.facade.runtime, "flow")
    price = plan(workflow, {}, before).prices["a"]
    assert (price.source, price.attempts, price.usd[2], price.tokens[2]) == ("history", 3, 300_000, 70)


@pytest.mark.req("X2", "X1")
def test_steps_of_one_name_in_different_blocks_have_a_history_each(tmp_path: Path) -> None:
    """A cheap one would otherwise lend its price to a dear one, and the limit of the run would be passed by a whole call."""
    project = Project(tmp_path)
    one = "    steps:\n      one: {{agent: w, prompt: x, touches: [], estimate: {{usd: {usd}}}}}\n"
    steps = "  a:\n" + one.format(usd=0.01) + "  b:\n" + one.format(usd=5)
    prices = "- {match: {step: a/one}, cost_usd: 0.01}\n- {match: {step: b/one}, cost_usd: 5}\n"
    file = project.flow(steps, head=TEAM + "limits: {usd: 6}\n", cast=prices)
    project.run(file)
    project.write("flow.yaml", file.read_text().replace("usd: 6", "usd: 4"))
    _, state = project.run(file)

    assert state.ended is not None and state.ended.reason == "limit"
    assert state.ledgers[ROOT].spent.usd == 10_000
    found = plan(open_workflow(file), {}, read_history(project.facade.runtime, "flow")).prices
    assert {at: (price.usd[2], price.attempts) for at, price in found.items()} == {
        "a/one": (10_000, 2),
        "b/one": (5_000_000, 1),
    }


EVERYWHERE = """
  a:
    agent: w
    prompt: x
    touches: []
    gates: [{name: tests, review: [w]}]
  b:
    for_each: {in: [1, 2]}
    agent: w
    prompt: x
    touches: []
  c:
    repeat: {until: "true", max: 2}
    steps:
      i: {agent: [w, v], prompt: x, touches: []}
    gates: [{name: i, review: [w]}]
  d: {workflow: child.yaml}
  e: {review: [w, v], of: [a]}
finally:
  z: {agent: w, prompt: x, touches: []}
"""


def test_the_addresses_of_a_file_are_those_of_its_runs(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\nsteps:\n  a: {agent: w, prompt: x, touches: []}\n"
    agents = "agents: {w: {type: scripted}, v: {type: scripted}}\n"
    (tmp_path / "child.yaml").write_text(child + agents)
    workflow = written(tmp_path, EVERYWHERE, agents)
    run = simulate(workflow, RandomWorld(1), inputs={})

    called = {
        without_numbers(leaf.place.path)
        for leaf in leaves(run.state)
        if isinstance(leaf.place.step.verb, Agent)
    }
    static = [at for at, _, _ in agent_steps(workflow)]
    assert called == set(static) == set(plan(workflow, {}).prices)
    assert len(set(static)) == len(static)
    assert {"a", "a#/tests/w", "b", "c/i/v", "c#/i/w", "d/a", "e/v", "finally/z"} <= called


def leaves(state: State) -> Iterator[Leaf]:
    return (one for one in state.instances.values() if isinstance(one, Leaf) and one.attempt)


def test_where_there_is_no_history_a_run_starts_as_if_nobody_had_asked(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run, _ = project.run(project.flow(STEP, head=TEAM, cast=cast(0.3)))
    started = project.events(run)[0]

    assert isinstance(started, RunStarted)
    assert started.run.typical_use == ()


@pytest.mark.req("X3", "C19")
def test_calls_without_a_price_say_nothing_about_money_but_their_tokens_count(tmp_path: Path) -> None:
    workflow = written(tmp_path, STEP, "agents: {w: {type: scripted}}")
    unknown = call("a", tokens=900, cost_known=False)

    assert usual_of(workflow, history_of([[unknown]])) == (TypicalUse("a", None, 900),)
    known = call("a~2", usd=5, tokens=700)
    assert usual_of(workflow, history_of([[unknown], [known]])) == (TypicalUse("a", MicroUsd(5), 900),)
    price = plan(workflow, {}, history_of([[unknown]])).prices["a"]
    assert (price.source, price.usd, price.tokens) == ("declared", (200_000,) * 3, (900,) * 3)


def test_what_was_not_used_in_a_call_to_its_end_does_not_look_cheap(tmp_path: Path) -> None:
    none = [
        call("a", kind="unavailable"),
        call("a", kind="error"),
        call("a", usd=7, reused="20250101-000000-aaaa"),
    ]

    assert history_of([none]) == {}
    assert history_of([[call("b[3]/a", kind="timeout", usd=9)]]) == {"b/a": [Use(None, 9, 0, "w")]}


@pytest.mark.parametrize(
    ("steps", "top", "fits"),
    [
        ("  a: {agent: w, prompt: x}\n", "agents: {w: {type: scripted}}", True),
        ("  a: {agent: other, prompt: x}\n", "agents: {other: {type: scripted}}", False),
        ("  a: {agent: w, model: sonnet, prompt: x}\n", "agents: {w: {type: scripted}}", True),
        ("  a: {agent: w, prompt: x}\n", "agents: {w: {type: scripted, model: opus}}", False),
        ('  a: {agent: "${{ inputs.who }}", prompt: x}\n', "inputs: {who: string}", True),
    ],
)
def test_what_another_agent_or_another_model_has_used_says_nothing(
    tmp_path: Path, steps: str, top: str, fits: bool
) -> None:
    past = {"a": [Use(10, 20, 0, "w", "claude-Sonnet-4-5")]}

    assert bool(fitting(written(tmp_path, steps, top), past)) == fits


@pytest.mark.parametrize(("kind", "fits"), [("scripted", True), ("claude", False)])
def test_what_a_script_has_named_says_nothing_about_a_real_agent(
    tmp_path: Path, kind: str, fits: bool
) -> None:
    workflow = written(tmp_path, "  a: {agent: w, prompt: x}\n", f"agents: {{w: {{type: {kind}}}}}")
    history = history_of([[call("a", usd=0, result={"agent": "w", "simulated": "scripted"})]])

    assert bool(fitting(workflow, history)) == fits


def test_a_step_of_a_called_workflow_has_a_history_too(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text("podium: 1\nname: child\nsteps:\n  b: {agent: claude, prompt: x}\n")
    workflow = written(tmp_path, "  a: {workflow: child.yaml}\n")

    history = history_of([[call("a/b", usd=5, result={"agent": "claude"})]])
    assert usual_of(workflow, history) == (TypicalUse("a/b", MicroUsd(5), None),)


@pytest.mark.req("X2")
def test_where_an_agent_stops_by_itself_counts_for_more_than_what_it_has_used(tmp_path: Path) -> None:
    top = "agents: {claude: {max_usd: 0.5}}"
    workflow = written(tmp_path, "  a: {agent: claude, prompt: x}\n", top)
    told = {"agent": "claude"}

    price = plan(workflow, {}, history_of([[call("a", usd=900_000, result=told)]])).prices["a"]
    assert (price.source, price.usd) == ("cap", (500_000,) * 3)
    assert plan(workflow, {}).prices["a"].usd == (0, 500_000, 500_000)


@pytest.mark.req("X1")
def test_what_was_never_cheaper_than_the_limit_is_not_started(tmp_path: Path) -> None:
    workflow = written(tmp_path, "  a: {agent: claude, prompt: x}\n", "limits: {usd: 1}")

    refusals = plan(workflow, {}, {"a": [Use(1, 2_000_000, 0), Use(1, 1_500_000, 0)]}).refusals
    assert refusals == ("even the cheapest way costs $1.50 as earlier runs did, and limits.usd is $1.00",)
    assert plan(workflow, {}, {"a": [Use(1, 2_000_000, 0), Use(1, 500_000, 0)]}).refusals == ()


def test_the_logs_of_earlier_runs_are_not_read_for_a_workflow_without_agents(tmp_path: Path) -> None:
    """A run of one step would otherwise take as long as checking the longest logs of the project."""
    project = Project(tmp_path)
    file = project.flow(STEP, head=TEAM, cast=cast(0.3, 50))
    project.run(file)
    runtime = project.facade.runtime

    assert list(history_for(runtime, open_workflow(file))) == ["a"]
    assert history_for(runtime, written(tmp_path, "  a: {set: {x: 1}}\n")) == {}

"""A property: work of a step that passed is in the result, was done again (and passed or failed), or `validate` warns of it.

PODIUM_RUNS says how many random workflows, PODIUM_SEED which ones; `make routes` tries 10,000. A tree is the list of the attempts
whose work is in it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from podium.core.addresses import ROOT, without_visits
from podium.core.events import StepEnded
from podium.core.state import Scope
from podium.core.types import Address, Tree
from podium.workflow.load import Loaded
from tests.core.kit import Game
from tests.workflow.compiling import load_text

RUNS = int(os.environ.get("PODIUM_RUNS", "150"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
MOST_ATTEMPTS = 40
RULE = 44
TARGETS = ("next", "end", "fail")
NAMED = re.compile(r'^the work of "(\w+)" is (?:dropped|lost)')


def random_flow(rng: Random) -> str:
    steps = _steps(rng, rng.randint(2, 6), "")
    return f"agents: {{w: {{type: scripted}}}}\nsteps: {json.dumps(steps)}\n"


def _steps(rng: Random, size: int, prefix: str) -> dict[str, Any]:
    names = [f"{prefix}{letter}" for letter in "abcdef"[:size]]
    return {name: _step(rng, name, names, is_inner=bool(prefix)) for name in names}


def _step(rng: Random, name: str, names: list[str], *, is_inner: bool) -> dict[str, Any]:
    routes = {
        outcome: rng.choice((*names, *TARGETS)) for outcome in ("passed", "failed") if rng.random() < 0.4
    }
    step: dict[str, Any] = {"on": routes} if routes else {}
    kind = rng.random()
    if kind < 0.2 and not is_inner:
        return {**step, "steps": _steps(rng, rng.randint(1, 3), name)}
    if kind < 0.7:
        return {**step, "agent": "w", "prompt": "x", "retry": {"attempts": 1, "on_exhausted": "fail"}}
    return {**step, "run": ["true"]}


def play(loaded: Loaded, rng: Random) -> Game:
    assert loaded.workflow is not None
    game = Game(loaded.workflow)
    for _ in range(MOST_ATTEMPTS):
        running = game.in_flight()
        if not running:
            break
        path = rng.choice(running)
        effect: Any = game.state.pending[("attempt", Address(path))]
        writes = game.state.instances[Address(path)].place.step.has_worker
        tree = Tree(f"{effect.started.start} {path}") if writes else effect.started.start
        game.end(path, "ok" if rng.random() < 0.7 else "failed", tree=tree)
    return game


def unexplained(game: Game, warned: set[str]) -> list[Address]:
    """Steps that passed, whose work is not in the result although no later visit replaced it and no warning names it."""
    root = game.state.instances[ROOT]
    assert isinstance(root, Scope)
    result = str(root.head).split()
    in_result = {without_visits(Address(path)) for path in result}
    passed: list[Address] = []
    for event in game.log:
        if isinstance(event, StepEnded) and event.outcome == "passed":
            passed.append(event.path)
        elif isinstance(event, StepEnded):
            # A step that fails has no work, also where an earlier visit had some: the file says where its failure leads.
            again = without_visits(event.path)
            passed = [path for path in passed if not f"{without_visits(path)}/".startswith(f"{again}/")]
    return [
        path
        for path in passed
        if _writes(game, path)
        and without_visits(path) not in in_result
        and warned.isdisjoint(without_visits(path).split("/"))
    ]


def _writes(game: Game, path: Address) -> bool:
    instance = game.state.instances[path]
    return instance.place.step.has_worker and not isinstance(instance, Scope)


@pytest.mark.parametrize("part", range(10))
def test_lost_work_of_a_passed_step_is_named_in_a_warning(part: int, tmp_path: Path) -> None:
    ended = 0
    for number in range(RUNS // 10):
        seed = f"{SEED}.{part}.{number}"
        rng = Random(seed)
        loaded = load_text(tmp_path, random_flow(rng))
        if loaded.workflow is None:
            continue
        game = play(loaded, rng)
        if game.state.ended is None or game.state.ended.status != "passed":
            continue
        ended += 1
        names = (NAMED.match(problem.message) for problem in loaded.problems if problem.rule == RULE)
        warned = {match.group(1) for match in names if match is not None}
        assert unexplained(game, warned) == [], f"random workflow {seed}"
    assert ended or RUNS < 1000


LATER = """\
agents: {w: {type: scripted}}
steps:
  a: {agent: w, prompt: x, on: {failed: c}}
  b: {agent: w, prompt: x, on: {passed: end}}
  c: {agent: w, prompt: x, on: {failed: a}}
  d: {agent: w, prompt: x}
  e: {agent: w, prompt: x, on: {passed: c}}
"""


def test_work_of_steps_after_the_failure_that_led_back_before_it_is_named(tmp_path: Path) -> None:
    """Only 1 random workflow in 10,000 has this shape."""
    loaded = load_text(tmp_path, LATER)

    messages = [problem.message for problem in loaded.problems if problem.rule == RULE]
    assert [match.group(1) for match in map(NAMED.match, messages) if match] == ["c", "d", "e"]

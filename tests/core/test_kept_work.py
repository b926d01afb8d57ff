"""A property: work of a step that passed is in the result, unless a failure led back over it.

PODIUM_RUNS says how many random workflows, PODIUM_SEED which ones; `make routes` tries 10,000. A tree is the list of the
attempts whose work is in it.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.events import JumpOrdered, StepEnded, StepEntered
from podium.core.model import Step
from podium.core.policy import Retry
from podium.core.state import Scope
from podium.core.types import Address, Tree
from tests.core.kit import BASE, Game, agent, block, command, flow, on

RUNS = int(os.environ.get("PODIUM_RUNS", "150"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
MOST_ATTEMPTS = 40
ONCE = Retry(attempts=1)


def random_steps(rng: Random, size: int, *, depth: int = 0) -> tuple[Step, ...]:
    return tuple(_random_step(rng, number, size, depth) for number in range(size))


def _random_step(rng: Random, number: int, size: int, depth: int) -> Step:
    routes = on(
        **{
            outcome: rng.choice((*range(size), "next", "end", "fail"))
            for outcome in ("passed", "failed")
            if rng.random() < 0.4
        }
    )
    name = "abcdef"[number]
    kind = rng.random()
    if kind < 0.2 and depth == 0:
        inner = block("seq", *random_steps(rng, rng.randint(1, 3), depth=1))
        return Step(name, inner, on=routes, has_worker=True)
    return agent(name, on=routes, retry=ONCE) if kind < 0.7 else command(name, on=routes)


def play(rng: Random) -> Game:
    game = Game(flow(*random_steps(rng, rng.randint(2, 6))))
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


def lost_work(game: Game) -> list[str]:
    """Steps that passed, whose work is not in the result, and over which no failure led back."""
    root = game.state.instances[ROOT]
    assert isinstance(root, Scope)
    result = set(str(root.head).split())
    passed: list[Address] = []
    outcomes: dict[Address, str] = {}
    is_rewound = False
    for event in game.log:
        match event:
            case StepEnded(path=path, outcome=outcome):
                outcomes[path] = outcome
                inside = f"{path}/"
                # What a block that failed had done is not handed on.
                passed = (
                    [*passed, path]
                    if outcome == "passed"
                    else [p for p in passed if not p.startswith(inside)]
                )
            case JumpOrdered(feedback=(*_, source)):
                is_rewound = outcomes[source] != "passed"
            case StepEntered() if event.stale and is_rewound:
                passed = [path for path in passed if not _is_rewound(game, path, event)]
            case _:
                pass
    return [path for path in passed if _is_agent(game, path) and path not in result]


def _is_rewound(game: Game, path: Address, entered: StepEntered) -> bool:
    """Whether this step, or the block around it, is the target of the failure or comes after it.

    Also one that led back to a step before the failure: the files are those from before the target.
    """
    while path != ROOT:
        place = game.state.instances[path].place
        if place.parent == entered.parent:
            return place.index >= entered.index
        path = place.parent
    return False


def _is_agent(game: Game, path: Address) -> bool:
    instance = game.state.instances[path]
    return instance.place.step.has_worker and not isinstance(instance, Scope)


@pytest.mark.parametrize("part", range(10))
def test_work_of_a_step_that_passed_is_in_the_result_unless_a_failure_led_back(part: int) -> None:
    ended = 0
    for number in range(RUNS // 10):
        seed = f"{SEED}.{part}.{number}"
        game = play(Random(seed))
        if game.state.ended is None or game.state.ended.status != "passed":
            continue
        ended += 1
        assert lost_work(game) == [], f"random workflow {seed}"
        assert str(game.state.instances[ROOT].head).startswith(BASE)  # type: ignore[union-attr]
    assert ended

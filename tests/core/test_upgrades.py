"""A stronger agent inside retry: who makes which attempt, what is reserved for it, and what it is told."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptStarted
from podium.core.model import Agent
from podium.core.payloads import Amounts, TypicalUse
from podium.core.policy import Estimate, Limits, Retry, Upgrade
from podium.core.queries.names import InstanceNames
from podium.core.queries.steps import upgraded
from podium.core.types import Address, MicroUsd, Tree
from podium.simulate.forecast.case_analysis import calls, scope_of_run, weights_of_tries
from podium.simulate.forecast.worst_case import worst_case
from tests.core.kit import Game, agent, command, flow, gates

OWN = Estimate(MicroUsd(3), 30, cap=MicroUsd(9))
STRONG = Estimate(MicroUsd(50), 500)
LADDER = (Upgrade(1, model="large"), Upgrade(3, agent="strong", estimate=STRONG))


def started(game: Game) -> AttemptStarted:
    return [event for event in game.log if isinstance(event, AttemptStarted)][-1]


def climb(*kinds: str, fallback: tuple[str, ...] = (), **rest: object) -> Game:
    verb = Agent(agent="small", model="mini", fallback=fallback, estimate=OWN)
    step = agent("a", touches=(), verb=verb, retry=Retry(attempts=4, upgrade=LADDER))
    game = Game(flow(step), **rest)  # type: ignore[arg-type]  # keywords of the game
    for kind in kinds:
        game.end("a", kind)
    return game


@pytest.mark.parametrize(("failed", "upgrade", "usd"), [(0, 0, 9), (1, 1, 9), (2, 1, 9), (3, 2, 50)])
def test_the_next_agent_takes_over_after_its_number_of_failed_tries(
    failed: int, upgrade: int, usd: int
) -> None:
    attempt = started(climb(*["failed"] * failed))

    assert (attempt.upgrade, attempt.reserve.usd) == (upgrade, usd)


def test_a_repair_and_a_transient_failure_do_not_bring_a_stronger_agent() -> None:
    assert started(climb("malformed")).upgrade == 0


def test_the_typical_use_is_that_of_the_own_agent() -> None:
    usual = {"typical_use": (TypicalUse("a", MicroUsd(5), 7),)}

    assert started(climb(facts=usual)).reserve == Amounts(MicroUsd(9), 7, 1)
    assert started(climb("failed", facts=usual)).reserve == Amounts(MicroUsd(9), 30, 1)


def test_the_stronger_agent_has_the_whole_list_of_fallbacks() -> None:
    game = climb("unavailable", "failed", fallback=("spare",))
    assert (started(game).agent, started(game).upgrade) == (0, 1)

    game.end("a", "unavailable")

    assert (started(game).agent, started(game).upgrade) == (1, 1)
    assert started(game).reserve == Amounts(MicroUsd(3), 30, 1)


def test_the_work_and_the_feedback_are_kept() -> None:
    game = climb()
    game.end("a", "failed", tree=Tree("half"))

    assert started(game).start == "half"
    assert game.at("a").feedback == ("a#1",)


def test_an_upgrade_of_the_agent_leaves_its_model_behind() -> None:
    verb = Agent(agent="small", model="mini", estimate=OWN)
    step = agent("a", verb=verb, retry=Retry(attempts=4, upgrade=LADDER))

    verbs = [upgraded(step, number).verb for number in range(3)]

    assert [(each.agent, each.model, each.estimate) for each in verbs if isinstance(each, Agent)] == [
        ("small", "mini", OWN),
        ("small", "large", OWN),
        ("strong", None, STRONG),
    ]


def test_attempt_is_the_number_of_the_counted_attempt_and_for_gates_that_of_the_judged_step() -> None:
    step = agent("a", gates=gates((command("t"),)), retry=Retry(attempts=3))
    game = Game(flow(step))
    game.end("a", "transient")
    game.wait_for_retry("a")
    game.end("a")
    game.end("a#2/t", "failed")

    def number(path: str) -> object:
        return InstanceNames(game.state, game.state.instances[Address(path)]).lookup("attempt")

    assert (number("a"), number("a#2/t")) == (2, 2)


@pytest.mark.parametrize(
    ("fallback", "tries", "granted", "spare"), [((), 9 + 9 + 9 + 50, 50, 0), (("x",), 77, 50, 27)]
)
def test_each_try_is_priced_by_the_agent_that_makes_it(
    fallback: tuple[str, ...], tries: int, granted: int, spare: int
) -> None:
    verb = Agent(agent="small", fallback=fallback, estimate=OWN)
    step = agent("a", verb=verb, retry=Retry(attempts=4, transient=0, repair=0, upgrade=LADDER))

    def usd(step: object, _: Address) -> int:
        estimate = step.verb.estimate  # type: ignore[attr-defined]  # a step of an agent
        return int(estimate.cap or estimate.usd)

    place = scope_of_run(flow(step), {}, usd, 5)

    assert weights_of_tries(place, step, 4) == (tries, granted, spare)
    assert worst_case(flow(step, limits=Limits(transitions=5)), {}, usd).either[-1] == tries + spare
    assert worst_case(flow(step, limits=Limits(transitions=5)), {}, calls).either[-1] == 4 + 3 * len(fallback)

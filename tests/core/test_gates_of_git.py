"""Gates of a landing, which run before it takes effect, and gates that could not run."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptQueued, AttemptStarted
from podium.core.model import Git, Step
from podium.core.policy import Retry
from podium.core.queries.names import InstanceNames
from podium.core.types import Address, Tree
from tests.core.kit import Game, agent, block, command, flow, gates, human, review

LOOKED_AT = gates((command("t"),), (review("q"),))


def landing(**rest: object) -> Step:
    return Step("land", Git(land="main"), touches=(), gates=LOOKED_AT, **rest)  # type: ignore[arg-type]


def proposed(game: Game, tree: str = "merged") -> None:
    game.end("land", reason="moved", tree=Tree(tree), result={"onto": "tip"})


def passed(game: Game, attempt: int) -> None:
    game.end(f"land#{attempt}/t")
    game.give_verdict(f"land#{attempt}/q/j1")


@pytest.mark.req("R119", "R176")
def test_a_landing_is_judged_first_and_lands_with_the_next_attempt() -> None:
    game = Game(flow(landing()))
    proposed(game)
    assert game.in_flight() == ["land#1/t"]
    judged = game.at("land#1").place
    assert (judged.base, judged.start) == ("tip", "merged")

    passed(game, 1)
    assert game.in_flight() == ["land"]
    assert game.events(AttemptQueued)[-1].why == "judged"
    assert game.events(AttemptStarted)[-1].start == game.at("land").place.start

    game.end("land")
    assert game.outcome("land") == ("passed", "")
    assert Address("land#2") not in game.state.instances


def test_a_landing_is_judged_again_if_its_result_has_changed() -> None:
    game = Game(flow(landing()))
    proposed(game)
    passed(game, 1)
    proposed(game, "merged again")

    assert game.in_flight() == ["land#2/t"]
    assert game.at("land#2").place.start == "merged again"
    passed(game, 2)
    game.end("land")
    assert game.outcome("land") == ("passed", "")


def test_a_landing_retried_after_a_failure_is_not_judged_again() -> None:
    game = Game(flow(landing(retry=Retry(attempts=2))))
    proposed(game)
    passed(game, 1)
    game.end("land", "failed", reason="in_the_way")
    game.wait_for_retry("land")
    assert game.in_flight() == ["land"]

    game.end("land")
    assert game.outcome("land") == ("passed", "")


def test_a_refused_landing_is_not_accepted_as_the_best() -> None:
    for answer in ("failed", "reject"):
        game = Game(flow(landing(retry=Retry(attempts=1, on_exhausted="accept_best", stated=True))))
        proposed(game)
        if answer == "failed":
            game.end("land#1/t", "failed")
        else:
            game.end("land#1/t")
            game.give_verdict("land#1/q/j1", "reject")
        assert game.outcome("land") == ("failed", "gates")


def test_after_failed_gates_the_next_attempt_computes_the_result_again() -> None:
    game = Game(flow(landing(retry=Retry(attempts=2))))
    proposed(game)
    game.end("land#1/t", "failed")
    game.wait_for_retry("land")
    game.end("land")
    assert game.in_flight() == ["land#2/t"]


@pytest.mark.req("R109")
def test_a_gate_that_could_not_run_ends_the_step_without_a_retry() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"),)), retry=Retry(attempts=3))))
    game.end_with_change("a")
    game.end("a#1/t", "error", reason="not_started", result={"message": "no such program\nmore"})

    assert game.outcome("a") == ("error", "not_started")
    ending = game.at("a").ending
    assert ending is not None and ending.message == "t error: no such program"


def test_a_reviewer_without_a_verdict_causes_no_rework() -> None:
    game = Game(flow(agent("a", gates=gates((), (review("q"),)), retry=Retry(attempts=3))), no_human=True)
    game.end_with_change("a")
    game.end("a#1/q/j1", "failed")

    assert game.outcome("a") == ("error", "no_verdict")


def test_a_block_is_not_retried_if_its_gate_could_not_run() -> None:
    inner = Step("b", block("seq", command("x")), gates=gates((command("t"),)), retry=Retry(attempts=3))
    game = Game(flow(inner))
    game.end("b/x")
    game.end("b#1/t", "error", reason="not_started")

    assert game.outcome("b") == ("failed", "not_started")
    assert game.at("b").tries == 0


def test_the_end_of_a_step_names_its_failed_gates() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"), command("u"))), retry=Retry(attempts=1))))
    game.end_with_change("a")
    game.end("a#1/t", "failed", result={"message": "2 tests failed"})
    game.end("a#1/u", "failed")

    ending = game.at("a").ending
    assert ending is not None and ending.message == "t failed: 2 tests failed; u failed"


def test_a_person_can_abort_a_landing_at_its_gate() -> None:
    step = Step("land", Git(land="main"), touches=(), gates=gates((), (), (human("h"),)))
    game = Game(flow(step))
    proposed(game)
    game.answer("land#1/h", "abort")

    assert game.outcome("land") == ("aborted", "aborted")


@pytest.mark.req("C29")
def test_people_who_approve_a_landing_see_what_the_steps_before_it_measured() -> None:
    lands = Step("land", Git(land="main"), touches=(), gates=gates((human("h"),)))
    game = Game(flow(agent("a", gates=gates((command("t"),))), command("b"), lands))
    game.end("a", change={"files": 3})
    game.end("a#1/t", result={"coverage": 91.5})
    game.end("b", result={"coverage": 70.0})
    game.end("land", change={"files": 4})

    assert InstanceNames(game.state, game.at("land#1/h")).lookup("change") == {"files": 4, "coverage": 70.0}
